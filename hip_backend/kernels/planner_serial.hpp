// The serial form of planner v1.2: slots in order, tiles in order (core/plan/v12_serial.cpp).
#pragma once

#include "hip_backend/kernels/planner_common.hpp"

namespace mla::hip {

class SerialFill {
 public:
  MLA_DEVICE_MEMBER SerialFill(const PlanArguments& a, i64 capacity)
      : a_(a), overhead_(overhead_blocks(a)), capacity_(capacity), room_(capacity) {}

  MLA_DEVICE_MEMBER void run() {
    a_.work_indptr[0] = 0;
    a_.reduce_indptr[0] = 0;
    for (int i = 0; i < a_.batch * a_.fold; ++i) {
      const PlanEntry e = plan_entry(a_, i);
      for (i64 t = 0; t < e.tiles; ++t) place(e, t);
    }
    while (slot_ < a_.slots) close_slot();
    for (i64 i = tiles_; i < a_.reduce_indptr_size; ++i)
      a_.reduce_indptr[i] = static_cast<int>(merged_);
  }

 private:
  struct Cut {
    i64 begin;  // pages
    i64 end;
    i64 offset;         // tokens of the request after
    bool absorbs_tail;  // what would remain is too short for a work of its own
  };

  MLA_DEVICE_MEMBER void close_slot() {
    a_.work_indptr[++slot_] = static_cast<int>(works_);
    room_ = capacity_;
  }

  // Tokens at the end of the request that rows of this tile cannot see.
  MLA_DEVICE_MEMBER i64 causal_trim(const PlanEntry& e, i64 tile) const {
    if (a_.causal == 0) return 0;
    i64 trim = a_.cp_round_robin != 0 ? 0 : e.tiles - 1 - tile;
    if (a_.fold != 1)
      trim = e.tiles - 1 - (e.q_begin + tile * e.tile_rows) / a_.fold % a_.uniform_qo_len;
    return trim > 0 ? trim : 0;
  }

  MLA_DEVICE_MEMBER Cut cut(const PlanEntry& e, i64 tile, i64 done, i64 blocks, bool last,
                            bool forced) const {
    Cut c;
    c.absorbs_tail = false;
    c.begin = e.kv_begin + done * a_.granularity;
    c.end = c.begin + blocks * a_.granularity;
    if (a_.page_size == 1) {
      const i64 visible_end = e.kv_end - causal_trim(e, tile);
      if (c.end > visible_end) c.end = visible_end;
      const i64 left = e.kv_end - c.end;
      c.absorbs_tail = !last && left < a_.max_qo_len;
      if (forced || c.absorbs_tail || (last && 0 < left && left < a_.max_qo_len))
        c.end = visible_end;
      if (e.kv_end == e.kv_begin) c.end = c.begin;
      c.offset = e.kv_end - c.end;
    } else {
      if (c.end > e.kv_end) c.end = e.kv_end;
      const i64 left = e.kv_end - c.end;
      c.offset = left == 0 ? 0 : (left - 1) * a_.page_size + e.last_page_len;
      c.absorbs_tail =
          a_.causal != 0 && !last && c.offset < e.q_end - e.q_begin - tile * e.tile_rows;
    }
    return c;
  }

  MLA_DEVICE_MEMBER void emit(const PlanEntry& e, i64 tile, const Cut& c, i64 partial_row) {
    const i64 q_begin = e.q_begin + tile * e.tile_rows;
    const i64 q_end = q_begin + e.tile_rows < e.q_end ? q_begin + e.tile_rows : e.q_end;
    write_work(a_, works_++, e, partial_row, q_begin, q_end, c.begin, c.end, c.offset);
  }

  // The tile was cut: names its pieces for the reducer.
  MLA_DEVICE_MEMBER void merge(const PlanEntry& e, i64 tile, i64 pieces) {
    const i64 q_begin = e.q_begin + tile * e.tile_rows;
    const i64 q_end = q_begin + e.tile_rows < e.q_end ? q_begin + e.tile_rows : e.q_end;
    a_.reduce_final_map[2 * tiles_] = static_cast<int>(q_begin);
    a_.reduce_final_map[2 * tiles_ + 1] = static_cast<int>(q_end);
    for (i64 j = 0; j < pieces; ++j)
      a_.reduce_partial_map[merged_ + j] =
          static_cast<int>(partial_rows_ - (pieces - 1 - j) * e.tile_rows);
    partial_rows_ += e.tile_rows;
    merged_ += pieces;
  }

  MLA_DEVICE_MEMBER void place(const PlanEntry& e, i64 tile) {
    const i64 blocks = blocks_of(a_, e);
    i64 done = 0;
    i64 cuts = 0;
    bool forced = false;
    while (slot_ < a_.slots) {
      const i64 rest = blocks - done;
      if (room_ >= rest + overhead_ || forced) {
        const Cut c = cut(e, tile, done, rest, true, forced);
        emit(e, tile, c, cuts > 0 ? partial_rows_ : -1);
        if (cuts > 0) merge(e, tile, cuts + 1);
        a_.reduce_indptr[++tiles_] = static_cast<int>(merged_);
        room_ -= rest + overhead_;
        return;
      }
      if (room_ > overhead_) {
        const Cut c = cut(e, tile, done, room_ - overhead_, false, false);
        if (c.absorbs_tail) {
          forced = true;
          continue;
        }
        emit(e, tile, c, partial_rows_);
        partial_rows_ += e.tile_rows;
        done += room_ - overhead_;
        ++cuts;
      }
      close_slot();
    }
  }

  const PlanArguments& a_;
  i64 overhead_;
  i64 capacity_;
  i64 room_;
  i64 slot_ = 0;
  i64 works_ = 0;
  i64 tiles_ = 0;
  i64 merged_ = 0;
  i64 partial_rows_ = 0;
};

}  // namespace mla::hip
