// The parallel planner of v1.2, for one query row a request and one token a page.
//
// A scan finds in closed form where every request begins; after that each request is written on its
// own, in any order. Nothing is shared with the serial walk but the capacity of a slot. It agrees
// with it except for a request without keys that arrives when its slot is (almost) full: such a
// request gets no work at all, and the slot is taken for full (BUG-074). Source: spec aiter.md 3.2,
// "Variants".
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/checks.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/v12_common.hpp"

namespace mla::plan {
namespace {

std::int32_t word(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

// What a slot takes and what a piece costs beside its keys, in blocks.
struct Slot {
  std::int64_t capacity;
  std::int64_t overhead;
  [[nodiscard]] std::int64_t fresh() const { return capacity - overhead; }
};

// One request and the state in which the scan reaches it.
struct Request {
  std::int64_t blocks = 0;
  std::int64_t rows = 0;     // query rows
  std::int64_t q_begin = 0;  // rows
  std::int64_t slot = 0;
  std::int64_t room = 0;    // blocks left in that slot, overhead included
  std::int64_t works = 0;   // works of all requests before
  std::int64_t merged = 0;  // partial results named before
  std::int64_t partial_rows = 0;
};

// How a request is cut where it stands.
struct Cut {
  bool wastes = false;      // its slot is closed without a piece of it
  std::int64_t head = 0;    // blocks of the piece that fills the slot it starts in
  std::int64_t fresh = 0;   // pieces on slots of their own
  std::int64_t pieces = 1;  // works; 0 is the lost request of BUG-074
};

Cut cut(const Request& r, const Slot& slot) {
  if (r.blocks + slot.overhead <= r.room) return {.head = r.blocks};
  Cut c;
  c.wastes = r.room <= slot.overhead;
  c.head = c.wastes ? 0 : r.room - slot.overhead;
  c.fresh = ceil_div(r.blocks - c.head, slot.fresh());
  c.pieces = c.fresh + (c.wastes ? 0 : 1);
  return c;
}

// Fills in the running state of `list`; returns the state behind the last request.
Request scan(std::vector<Request>& list, const Slot& slot) {
  Request at;
  at.room = slot.capacity;
  for (Request& r : list) {
    r.slot = at.slot;
    r.room = at.room;
    r.works = at.works;
    r.merged = at.merged;
    r.partial_rows = at.partial_rows;
    const Cut c = cut(r, slot);
    const bool fits = c.fresh == 0 && !c.wastes;
    const std::int64_t last = r.blocks - c.head - (c.fresh - 1) * slot.fresh();
    at.room = fits ? r.room - r.blocks - slot.overhead : slot.fresh() - last;
    at.slot += c.fresh;
    at.works += c.pieces;
    if (c.pieces > 1) {
      at.merged += c.pieces;
      at.partial_rows += c.pieces * r.rows;
    }
  }
  return at;
}

class ParallelFill {
 public:
  ParallelFill(const PlanInput& input, const PlanShape& shape, const Slot& slot,
               const BufferSizes& sizes)
      : input_(input), slots_(shape.slots.count()), slot_(slot), plan_(sizes) {}

  void begin(const Request& end);
  void write(const Request& r, std::int64_t index);
  Plan finish(std::int64_t batch, const Request& end) &&;

 private:
  // The slot works of `slot` end before work `works`; a slot past the device is nobody's.
  void close(std::int64_t slot, std::int64_t works) {
    if (slot < slots_) plan_.work_indptr.set(slot + 1, word(works));
  }

  const PlanInput& input_;
  std::int64_t slots_;
  Slot slot_;
  Plan plan_;
};

void ParallelFill::begin(const Request& end) {
  plan_.work_indptr.set(0, 0);
  plan_.reduce_indptr.set(0, 0);
  for (std::int64_t s = 0; s < slots_; ++s) close(s, end.works);
}

void ParallelFill::write(const Request& r, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  const std::int64_t kv_begin = input_.kv_indptr[i] - input_.kv_indptr[0];
  const std::int64_t kv_end = input_.kv_indptr[i + 1] - input_.kv_indptr[0];
  const Cut c = cut(r, slot_);
  const bool split = c.pieces > 1;
  if (c.wastes) close(r.slot, r.works);
  plan_.reduce_indptr.set(index + 1, word(r.merged + (split ? c.pieces : 0)));
  if (split) {
    plan_.reduce_final_map.set(2 * index, word(r.q_begin));
    plan_.reduce_final_map.set(2 * index + 1, word(r.q_begin + r.rows));
  }
  for (std::int64_t p = 0; p < c.pieces; ++p) {
    // Piece p begins behind the head and the full slots before it.
    const std::int64_t full_before = c.wastes ? p : p - 1;
    const std::int64_t first = full_before < 0 ? 0 : c.head + full_before * slot_.fresh();
    const std::int64_t last =
        p + 1 == c.pieces ? r.blocks : c.head + (full_before + 1) * slot_.fresh();
    const std::int64_t end = std::min(kv_begin + last * input_.kv_granularity, kv_end);
    const std::int64_t row = r.partial_rows + p * r.rows;
    plan_.set_work(r.works + p, {.batch = word(index),
                                 .partial_row = split ? word(row) : -1,
                                 .q_begin = word(r.q_begin),
                                 .q_end = word(r.q_begin + r.rows),
                                 .kv_begin = word(kv_begin + first * input_.kv_granularity),
                                 .kv_end = word(end),
                                 .kv_offset = word(kv_end - end)});
    if (split) plan_.reduce_partial_map.set(r.merged + p, word(row));
    if (p + 1 < c.pieces) close(r.slot + p + (c.wastes ? 1 : 0), r.works + p + 1);
  }
}

Plan ParallelFill::finish(std::int64_t batch, const Request& end) && {
  plan_.reduce_indptr.fill_from(batch, word(end.merged));
  return std::move(plan_);
}

}  // namespace

Result<Plan> plan_v12_parallel(const PlanInput& input, const PlanShape& shape,
                               const BufferSizes& sizes) {
  if (Status bad = check_v12(input, shape)) return *bad;
  if (Status bad = check_parallel(input, shape)) return *bad;
  Slot slot{.capacity = 0, .overhead = overhead_blocks(1)};
  std::vector<Request> list(static_cast<std::size_t>(input.batch()));
  std::int64_t demand = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool uniform = !ragged(input);
    list[i].blocks = blocks_of(input.kv_indptr[i + 1] - input.kv_indptr[i], input.kv_granularity);
    list[i].rows = uniform ? input.uniform_qo_len : input.qo_indptr[i + 1] - input.qo_indptr[i];
    list[i].q_begin =
        uniform ? input.uniform_qo_len * static_cast<std::int64_t>(i) : input.qo_indptr[i];
    demand += list[i].blocks + slot.overhead;
  }
  slot.capacity = slot_capacity(input, shape, demand);
  const Request end = scan(list, slot);
  ParallelFill fill(input, shape, slot, sizes);
  fill.begin(end);
  for (std::size_t i = 0; i < list.size(); ++i) fill.write(list[i], static_cast<std::int64_t>(i));
  return checked_overruns(std::move(fill).finish(input.batch(), end), input.fidelity);
}

}  // namespace mla::plan
