// The serial planner of v1.2: slots are filled in order with tiles in order, nothing is sorted.
//
// Source: spec aiter.md 3.2, steps 3 to 5. A ragged query that is split is planned with its real
// lengths; the original reads them from scratch memory before it stores them and so agrees only
// when the launch before it had the same ones (BUG-061).
#include <algorithm>
#include <string>

#include "core/plan/checks.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/v12_common.hpp"
#include "core/plan/v12_entries.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

std::int32_t word(std::int64_t value) {
  return static_cast<std::int32_t>(value);
}

// Walks the slots once. `capacity` is what a slot takes, in blocks, overhead included:
// ceil(demand / budget) + overhead. The slots suffice: a slot loses at most one overhead, either
// wasted at its end or spent on continuing a tile at its beginning, never both for the same
// boundary, so `budget` slots hold at least budget * (capacity - overhead) >= demand.
class SerialFill {
 public:
  SerialFill(const PlanInput& input, const PlanShape& shape, std::int64_t capacity,
             const BufferSizes& sizes)
      : input_(input),
        shape_(shape),
        plan_(sizes),
        overhead_(overhead_blocks(input.page_size)),
        capacity_(capacity),
        room_(capacity) {
    plan_.work_indptr.set(0, 0);
    plan_.reduce_indptr.set(0, 0);
  }

  Status place(const Entry& entry, std::int64_t tile);
  Plan finish() &&;

 private:
  // Which blocks of a tile a piece has.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t blocks = 0;
    bool last = false;
    bool forced = false;
  };
  bool fill(WorkItem& item, const Entry& entry, std::int64_t tile, const Range& range) const;
  Status emit(const Entry& entry, const WorkItem& item);
  [[nodiscard]] Error unmerged_tail(const Entry& entry, const WorkItem& item, bool hidden) const;
  void merge(const WorkItem& last, std::int64_t pieces, std::int64_t tile_rows);
  void close_slot();
  [[nodiscard]] bool slots_left() const { return slot_ < shape_.slots.count(); }

  const PlanInput& input_;
  const PlanShape& shape_;
  Plan plan_;
  std::int64_t overhead_;
  std::int64_t capacity_;
  std::int64_t room_;
  std::int64_t slot_ = 0;
  std::int64_t works_ = 0;
  std::int64_t tiles_ = 0;         // tiles finished
  std::int64_t merged_ = 0;        // entries of reduce_partial_map in use
  std::int64_t partial_rows_ = 0;  // rows of the partial buffers in use
};

void SerialFill::close_slot() {
  plan_.work_indptr.set(++slot_, word(works_));
  room_ = capacity_;
}

// Makes the work item of a piece of a tile. Says whether the piece has to absorb the tail of the
// tile, because what would remain is too short for a work of its own.
bool SerialFill::fill(WorkItem& item, const Entry& entry, std::int64_t tile,
                      const Range& range) const {
  const bool last = range.last;
  const std::int64_t q_begin = entry.q_begin + tile * entry.tile_rows;
  const std::int64_t begin = entry.kv_begin + range.begin * input_.kv_granularity;
  std::int64_t end = begin + range.blocks * input_.kv_granularity;
  std::int64_t offset = 0;
  bool absorbs_tail = false;
  if (input_.page_size == 1) {
    const std::int64_t visible_end = entry.kv_end - causal_trim(input_, shape_, entry, tile);
    const std::int64_t least = input_.key.max_qo_len;  // keys that a last piece must have
    end = std::min(end, visible_end);
    const std::int64_t left = entry.kv_end - end;
    absorbs_tail = !last && left < least;
    if (range.forced || absorbs_tail || (last && 0 < left && left < least)) end = visible_end;
    if (safe(input_) && entry.pages() == 0) end = begin;  // not before the request
    offset = entry.kv_end - end + entry.rows_after;
  } else {
    end = std::min(end, entry.kv_end);
    const std::int64_t left = entry.kv_end - end;
    if (left != 0) offset = (left - 1) * input_.page_size + entry.last_page_len;
    // The original leaves a last page that the first rows of the tile do not see to a work of its
    // own, where real kernels let them see it (BUG-012).
    absorbs_tail = safe(input_) && input_.causal && !last && offset < entry.q_end - q_begin;
  }
  item.batch = word(entry.batch);
  item.q_begin = word(q_begin);
  item.q_end = word(std::min(q_begin + entry.tile_rows, entry.q_end));
  item.kv_begin = word(begin);
  item.kv_end = word(end);
  item.kv_offset = word(offset);
  return absorbs_tail;
}

// An empty work for a request that has keys, or one of which a row sees none: only possible where
// the tail merge is off or smaller than the causal trim, because max_qo_len is unknown.
Status SerialFill::emit(const Entry& entry, const WorkItem& item) {
  const bool empty = entry.pages() > 0 && item.kv_end <= item.kv_begin;
  const bool hidden = input_.page_size == 1 && input_.causal && item.kv_begin > entry.kv_begin &&
                      entry.kv_end - item.kv_begin < entry.q_end - item.q_begin;
  if (safe(input_) && (empty || hidden)) return unmerged_tail(entry, item, hidden);
  plan_.set_work(works_++, item);
  return std::nullopt;
}

Error SerialFill::unmerged_tail(const Entry& entry, const WorkItem& item, bool hidden) const {
  return refused(
      say(request_name(entry.request), " gets a work from key ", item.kv_begin, " to key ",
          item.kv_end, ": max_qo_len = ", input_.key.max_qo_len, " leaves short tails unmerged"),
      hidden ? "BUG-012" : "");
}

// The tile that `last` finishes was cut: name its pieces for the reducer.
void SerialFill::merge(const WorkItem& last, std::int64_t pieces, std::int64_t tile_rows) {
  plan_.reduce_final_map.set(2 * tiles_, last.q_begin);
  plan_.reduce_final_map.set(2 * tiles_ + 1, last.q_end);
  for (std::int64_t j = 0; j < pieces; ++j)
    plan_.reduce_partial_map.set(merged_ + j, word(partial_rows_ - (pieces - 1 - j) * tile_rows));
  partial_rows_ += tile_rows;
  merged_ += pieces;
}

Status SerialFill::place(const Entry& entry, std::int64_t tile) {
  const std::int64_t blocks = ceil_div(entry.pages(), input_.kv_granularity);
  std::int64_t done = 0;
  std::int64_t cuts = 0;
  bool forced = false;
  while (slots_left()) {
    WorkItem item;
    const std::int64_t rest = blocks - done;
    if (room_ >= rest + overhead_ || forced) {
      fill(item, entry, tile, {.begin = done, .blocks = rest, .last = true, .forced = forced});
      if (cuts > 0) {
        item.partial_row = word(partial_rows_);
        merge(item, cuts + 1, entry.tile_rows);
      }
      if (Status bad = emit(entry, item)) return bad;
      plan_.reduce_indptr.set(++tiles_, word(merged_));
      room_ -= rest + overhead_;  // below zero after an absorbed tail
      return std::nullopt;
    }
    if (room_ > overhead_) {
      const std::int64_t take = room_ - overhead_;
      forced = fill(item, entry, tile, {.begin = done, .blocks = take});
      if (forced) continue;
      item.partial_row = word(partial_rows_);
      if (Status bad = emit(entry, item)) return bad;
      partial_rows_ += entry.tile_rows;
      done += take;
      ++cuts;
    }
    close_slot();
  }
  return std::nullopt;
}

Plan SerialFill::finish() && {
  while (slots_left()) close_slot();
  plan_.reduce_indptr.fill_from(tiles_, word(merged_));
  return std::move(plan_);
}

}  // namespace

Result<Plan> plan_v12_serial(const PlanInput& input, const PlanShape& shape,
                             const BufferSizes& sizes) {
  if (Status bad = check_v12(input, shape)) return *bad;
  const Result<Entries> entries = v12_entries(input, shape);
  if (!entries) return entries.error();
  SerialFill fill(input, shape, slot_capacity(input, shape, entries->demand), sizes);
  for (const Entry& entry : entries->list)
    for (std::int64_t tile = 0; tile < entry.tiles; ++tile)
      if (Status bad = fill.place(entry, tile)) return *bad;
  return checked_overruns(std::move(fill).finish(), input.fidelity);
}

}  // namespace mla::plan
