// The parallel form of planner v1.2, for one row a request (core/plan/v12_parallel.cpp).
#pragma once

#include "hip_backend/kernels/planner_common.hpp"

namespace mla::hip {

class ParallelFill {
  // The state in which a request is reached; kept in the scratch buffer, five words each.
  struct State {
    i64 slot;
    i64 room;
    i64 works;
    i64 merged;
    i64 partial_rows;
  };
  struct Cut {
    bool wastes;  // its slot is closed without a piece of it
    i64 head;     // blocks of the piece that fills the slot it starts in
    i64 fresh;    // pieces on slots of their own
    i64 pieces;   // works; 0 for a request without keys that finds no room
  };

 public:
  MLA_DEVICE_MEMBER ParallelFill(const PlanArguments& a, i64 capacity)
      : a_(a), overhead_(overhead_blocks(a)), fresh_(capacity - overhead_) {}

  MLA_DEVICE_MEMBER void run() {
    if (thread_id() == 0) scan();
    barrier();
    const State end = state(a_.batch);
    for (int s = thread_id(); s < a_.slots; s += kPlanThreads)
      a_.work_indptr[s + 1] = static_cast<int>(end.works);
    if (thread_id() == 0) {
      a_.work_indptr[0] = 0;
      a_.reduce_indptr[0] = 0;
    }
    for (int i = a_.batch + thread_id(); i < a_.reduce_indptr_size; i += kPlanThreads)
      a_.reduce_indptr[i] = static_cast<int>(end.merged);
    barrier();
    for (int r = thread_id(); r < a_.batch; r += kPlanThreads) write(r);
  }

 private:
  MLA_DEVICE_MEMBER Cut cut(i64 blocks, i64 room) const {
    if (blocks + overhead_ <= room) return {false, blocks, 0, 1};
    Cut c;
    c.wastes = room <= overhead_;
    c.head = c.wastes ? 0 : room - overhead_;
    c.fresh = ceil_div64(blocks - c.head, fresh_);
    c.pieces = c.fresh + (c.wastes ? 0 : 1);
    return c;
  }

  MLA_DEVICE_MEMBER void keep(int request, const State& at) const {
    int* to = a_.scratch + 5 * request;
    to[0] = static_cast<int>(at.slot);
    to[1] = static_cast<int>(at.room);
    to[2] = static_cast<int>(at.works);
    to[3] = static_cast<int>(at.merged);
    to[4] = static_cast<int>(at.partial_rows);
  }
  MLA_DEVICE_MEMBER State state(int request) const {
    const int* from = a_.scratch + 5 * request;
    return {from[0], from[1], from[2], from[3], from[4]};
  }

  MLA_DEVICE_MEMBER void scan() const {
    State at = {0, fresh_ + overhead_, 0, 0, 0};
    for (int r = 0; r < a_.batch; ++r) {
      keep(r, at);
      const PlanEntry e = plan_entry(a_, r);
      const i64 blocks = blocks_of(a_, e);
      const Cut c = cut(blocks, at.room);
      const bool fits = c.fresh == 0 && !c.wastes;
      const i64 last = blocks - c.head - (c.fresh - 1) * fresh_;
      at.room = fits ? at.room - blocks - overhead_ : fresh_ - last;
      at.slot += c.fresh;
      at.works += c.pieces;
      if (c.pieces > 1) {
        at.merged += c.pieces;
        at.partial_rows += c.pieces * e.qo_len;
      }
    }
    keep(a_.batch, at);
  }

  // The works of `slot` end before work `works`; a slot past the device has none.
  MLA_DEVICE_MEMBER void close(i64 slot, i64 works) const {
    if (slot < a_.slots) a_.work_indptr[slot + 1] = static_cast<int>(works);
  }

  MLA_DEVICE_MEMBER void write(int request) const {
    const PlanEntry e = plan_entry(a_, request);
    const State at = state(request);
    const i64 blocks = blocks_of(a_, e);
    const Cut c = cut(blocks, at.room);
    const bool split = c.pieces > 1;
    if (c.wastes) close(at.slot, at.works);
    a_.reduce_indptr[request + 1] = static_cast<int>(at.merged + (split ? c.pieces : 0));
    if (split) {
      a_.reduce_final_map[2 * request] = static_cast<int>(e.q_begin);
      a_.reduce_final_map[2 * request + 1] = static_cast<int>(e.q_end);
    }
    for (i64 p = 0; p < c.pieces; ++p) {
      // Piece p begins after the head and the full slots before it.
      const i64 before = c.wastes ? p : p - 1;
      const i64 first = before < 0 ? 0 : c.head + before * fresh_;
      const i64 last = p + 1 == c.pieces ? blocks : c.head + (before + 1) * fresh_;
      const i64 stop = e.kv_begin + last * a_.granularity;
      const i64 end = stop < e.kv_end ? stop : e.kv_end;
      const i64 row = at.partial_rows + p * e.qo_len;
      write_work(a_, at.works + p, e, split ? row : -1, e.q_begin, e.q_end,
                 e.kv_begin + first * a_.granularity, end, e.kv_end - end);
      if (split) a_.reduce_partial_map[at.merged + p] = static_cast<int>(row);
      if (p + 1 < c.pieces) close(at.slot + p + (c.wastes ? 1 : 0), at.works + p + 1);
    }
  }

  const PlanArguments& a_;
  i64 overhead_;
  i64 fresh_;  // blocks that a slot takes when it begins with a piece
};

}  // namespace mla::hip
