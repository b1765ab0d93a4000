// The parallel planner of v1.2, for one query row a request and one token a page.
//
// The original finds in closed form where every request begins, with a scan, and then writes each
// request on its own, in any order. Here one pass does both, in the order of the requests. Nothing
// is shared with the serial walk but the capacity of a slot. It agrees with it except for a request
// without keys that arrives when its slot is (almost) full: such a request gets no work at all, and
// the slot is taken for full (BUG-074). Source: spec aiter.md 3.2, "Variants".
#include <array>
#include <span>
#include <string>
#include <utility>

#include "core/plan/checks.hpp"
#include "core/plan/in_order.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/v12_common.hpp"

namespace mla::plan {
namespace {

std::int32_t word(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

struct Request {
  std::int64_t index = 0;
  std::int64_t q_begin = 0;  // rows
  std::int64_t rows = 0;
  std::int64_t kv_begin = 0;  // pages, from kv_indptr[0]
  std::int64_t kv_end = 0;
  std::int64_t blocks = 0;
};

// How a request is cut that does not fit into the rest of its slot.
struct ParallelCut {
  bool wastes = false;      // the slot is closed without a piece of it
  std::int64_t head = 0;    // blocks of the piece that fills the slot
  std::int64_t fresh = 0;   // pieces on slots of their own
  std::int64_t pieces = 0;  // works; 0 is the lost request of BUG-074
};

class ParallelFill {
 public:
  // `capacity` is what a slot takes, in blocks, overhead included.
  ParallelFill(const PlanInput& input, const PlanShape& shape, std::int64_t capacity, Plan& plan)
      : granularity_(input.kv_granularity),
        slots_(shape.slots.count()),
        fresh_(capacity - kOverhead),
        room_(capacity),
        plan_(plan),
        work_indptr_(plan.work_indptr),
        work_info_(plan.work_info),
        reduce_indptr_(plan.reduce_indptr),
        reduce_partial_map_(plan.reduce_partial_map) {
    work_indptr_.add(0);
    reduce_indptr_.add(0);
  }

  void place(const Request& r);
  void finish();

  static constexpr std::int64_t kOverhead = overhead_blocks(1);

 private:
  [[nodiscard]] ParallelCut cut(const Request& r) const;
  void write_pieces(const Request& r, const ParallelCut& c);
  void write(const Request& r, std::int64_t partial_row, std::int64_t begin, std::int64_t end);
  // The works of the next slot are written; a slot past the device has none.
  void close() {
    if (closed_ < slots_) work_indptr_.add(works_);
    ++closed_;
  }

  std::int64_t granularity_;
  std::int64_t slots_;
  std::int64_t fresh_;  // blocks of a request that a slot of its own takes
  // Where the scan stands.
  std::int64_t room_;        // blocks left in the slot, overhead included
  std::int64_t closed_ = 0;  // slots
  std::int64_t works_ = 0;
  std::int64_t merged_ = 0;        // partial results named
  std::int64_t partial_rows_ = 0;  // of the requests before

  Plan& plan_;
  InOrder work_indptr_, work_info_, reduce_indptr_, reduce_partial_map_;
};

void ParallelFill::place(const Request& r) {
  if (r.blocks + kOverhead <= room_) {
    write(r, -1, r.kv_begin, r.kv_end);
    room_ -= r.blocks + kOverhead;
  } else {
    const ParallelCut c = cut(r);
    const std::int64_t last = r.blocks - c.head - (c.fresh - 1) * fresh_;
    write_pieces(r, c);
    room_ = fresh_ - last;
  }
  reduce_indptr_.add(merged_);
}

ParallelCut ParallelFill::cut(const Request& r) const {
  ParallelCut c;
  c.wastes = room_ <= kOverhead;
  c.head = c.wastes ? 0 : room_ - kOverhead;
  c.fresh = ceil_div(r.blocks - c.head, fresh_);
  c.pieces = c.fresh + (c.wastes ? 0 : 1);
  return c;
}

void ParallelFill::write_pieces(const Request& r, const ParallelCut& c) {
  if (c.pieces == 0) return;  // the next request that has a piece closes the slot
  if (c.wastes) close();
  if (c.pieces == 1) return write(r, -1, r.kv_begin, r.kv_end);
  const std::array rows = {word(r.q_begin), word(r.q_begin + r.rows)};
  plan_.reduce_final_map.write(2 * r.index, std::span(rows));
  merged_ += c.pieces;
  // The head fills the slot the request starts in; after it, every piece but the last takes a
  // slot.
  const std::int64_t step = fresh_ * granularity_;
  std::int64_t begin = r.kv_begin;
  std::int64_t end = begin + (c.wastes ? step : c.head * granularity_);
  for (std::int64_t p = 1; p <= c.pieces; ++p) {
    if (p == c.pieces) end = r.kv_end;
    write(r, partial_rows_, begin, end);
    reduce_partial_map_.add(partial_rows_);
    partial_rows_ += r.rows;
    if (p < c.pieces) close();
    begin = end;
    end += step;
  }
}

void ParallelFill::write(const Request& r, std::int64_t partial_row, std::int64_t begin,
                         std::int64_t end) {
  work_info_.add({.batch = word(r.index),
                  .partial_row = word(partial_row),
                  .q_begin = word(r.q_begin),
                  .q_end = word(r.q_begin + r.rows),
                  .kv_begin = word(begin),
                  .kv_end = word(end),
                  .kv_offset = word(r.kv_end - end)});
  ++works_;
}

void ParallelFill::finish() {
  while (closed_ < slots_) close();
  reduce_indptr_.fill(merged_);
}

// Calls `visit` with every request.
template <class Visit>
void each_request(const PlanInput& input, Visit visit) {
  const std::span<const std::int32_t> kv = input.kv_indptr;
  const Blocks blocks(input.kv_granularity);
  const std::int64_t first = kv[0];
  const std::int64_t batch = input.batch();
  const bool lists_rows = ragged(input);
  Request r{.rows = input.uniform_qo_len};
  for (; r.index < batch; ++r.index) {
    const auto i = static_cast<std::size_t>(r.index);
    r.kv_begin = r.kv_end;
    r.kv_end = kv[i + 1] - first;
    r.blocks = blocks.of(r.kv_end - r.kv_begin);
    if (lists_rows) {
      r.q_begin = input.qo_indptr[i];
      r.rows = input.qo_indptr[i + 1] - input.qo_indptr[i];
    }
    visit(r);
    if (!lists_rows) r.q_begin += r.rows;
  }
}

}  // namespace

Result<Plan> plan_v12_parallel(const PlanInput& input, const PlanShape& shape,
                               const BufferSizes& sizes) {
  if (MaybeError bad = check_v12(input, shape)) return *bad;
  if (MaybeError bad = check_parallel(input, shape)) return *bad;
  std::int64_t demand = 0;
  each_request(input, [&](const Request& r) { demand += r.blocks + ParallelFill::kOverhead; });
  Plan plan(sizes);
  {
    ParallelFill fill(input, shape, slot_capacity(input, shape, demand), plan);
    each_request(input, [&](const Request& r) { fill.place(r); });
    fill.finish();
  }
  return checked_overruns(std::move(plan), input.fidelity);
}

}  // namespace mla::plan
