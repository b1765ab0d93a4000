// The serial planner of v1.2: slots are filled in order with tiles in order, nothing is sorted.
//
// Source: spec aiter.md 3.2, steps 3 to 5. A ragged query that is split is planned with its real
// lengths; the original reads them from scratch memory before it stores them and so agrees only
// when the launch before it had the same ones (BUG-061).
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>

#include "core/plan/checks.hpp"
#include "core/plan/in_order.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/v12_common.hpp"
#include "core/plan/v12_entries.hpp"
#include "core/plan/words.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

// Walks the slots once. `capacity` is what a slot takes, in blocks, overhead included:
// ceil(demand / budget) + overhead. The slots suffice: a slot loses at most one overhead, either
// wasted at its end or spent on continuing a tile at its beginning, never both for the same
// boundary, so `budget` slots hold at least budget * (capacity - overhead) >= demand.
class SerialFill {
 public:
  SerialFill(const PlanInput& input, const PlanShape& shape, std::int64_t capacity, Plan& plan)
      : input_(input),
        slots_(shape.slots.count()),
        overhead_(overhead_blocks(input.page_size)),
        unmerged_(safe(input) && input.causal && input.page_size == 1 && input.key.max_qo_len < 1),
        capacity_(capacity),
        room_(capacity),
        plan_(plan),
        work_indptr_(plan.work_indptr),
        work_info_(plan.work_info),
        reduce_indptr_(plan.reduce_indptr),
        reduce_partial_map_(plan.reduce_partial_map) {
    work_indptr_.add(0);
    reduce_indptr_.add(0);
  }

  // A tile of an entry: its rows, its blocks, and the page after the last that the rows see.
  struct Tile {
    std::int64_t q_begin = 0;
    std::int64_t q_end = 0;
    std::int64_t blocks = 0;
    std::int64_t kv_end = 0;
  };
  // False where the planner refuses.
  bool place(const Entry& entry, const Tile& tile) {
    if (!slots_left() || room_ < tile.blocks + overhead_) return place_cut(entry, tile);
    write(entry, tile, entry.kv_begin, tile.kv_end, -1);
    finish_tile(tile.blocks);
    return true;
  }
  void finish();
  [[nodiscard]] const MaybeError& refusal() const { return refusal_; }

 private:
  bool place_cut(Entry entry, Tile tile);
  [[nodiscard]] bool absorbs_tail(const Entry& entry, const Tile& tile, std::int64_t end) const;
  [[nodiscard]] std::int64_t tokens_after(const Entry& entry, std::int64_t end) const;
  bool refuse_tail(std::int64_t request, std::int64_t begin, std::int64_t end);
  void write(const Entry& entry, const Tile& tile, std::int64_t begin, std::int64_t end,
             std::int64_t partial_row);
  void finish_tile(std::int64_t blocks) {
    reduce_indptr_.add(merged_);
    ++tiles_;
    room_ -= blocks + overhead_;  // below zero after an absorbed tail
  }
  void merge(std::int64_t pieces, const Tile& tile, std::int64_t tile_rows);
  void close_slot() {
    work_indptr_.add(works_);
    ++slot_;
    room_ = capacity_;
  }
  [[nodiscard]] bool slots_left() const { return slot_ < slots_; }

  const PlanInput& input_;
  std::int64_t slots_;
  std::int64_t overhead_;
  // A piece may be left of which some row sees no key. Not where max_qo_len is known: then every
  // cut leaves at least max_qo_len keys (absorbs_tail), and no request has more rows (check_safe).
  // So a safe plan has no empty piece of a request with keys: a tile ends at most as many keys
  // before the last one as rows follow it (Entries::check_tiles).
  bool unmerged_;
  std::int64_t capacity_;
  std::int64_t room_;
  std::int64_t slot_ = 0;
  std::int64_t works_ = 0;
  std::int64_t tiles_ = 0;         // tiles finished
  std::int64_t merged_ = 0;        // entries of reduce_partial_map in use
  std::int64_t partial_rows_ = 0;  // rows of the partial buffers in use
  MaybeError refusal_;
  Plan& plan_;
  InOrder work_indptr_, work_info_, reduce_indptr_, reduce_partial_map_;
};

// Tokens of the request after page `end`.
inline std::int64_t SerialFill::tokens_after(const Entry& entry, std::int64_t end) const {
  const std::int64_t left = entry.kv_end - end;
  if (input_.page_size == 1) return left + entry.rows_after;
  return left == 0 ? 0 : (left - 1) * input_.page_size + entry.last_page_len;
}

inline void SerialFill::write(const Entry& entry, const Tile& tile, std::int64_t begin,
                              std::int64_t end, std::int64_t partial_row) {
  work_info_.add({.batch = word(entry.batch),
                  .partial_row = word(partial_row),
                  .q_begin = word(tile.q_begin),
                  .q_end = word(tile.q_end),
                  .kv_begin = word(begin),
                  .kv_end = word(end),
                  .kv_offset = word(tokens_after(entry, end))});
  ++works_;
}

// A work of which a row sees no key: only possible where tails are not merged.
bool SerialFill::refuse_tail(std::int64_t request, std::int64_t begin, std::int64_t end) {
  refusal_ = refused(say(request_name(request), " gets a work from key ", begin, " to key ", end,
                         ": max_qo_len = ", input_.key.max_qo_len, " leaves short tails unmerged"),
                     "BUG-012");
  return false;
}

// The tile is finished and was cut: name its pieces for the reducer.
void SerialFill::merge(std::int64_t pieces, const Tile& tile, std::int64_t tile_rows) {
  const std::array rows = {word(tile.q_begin), word(tile.q_end)};
  plan_.reduce_final_map.write(2 * tiles_, std::span(rows));
  for (std::int64_t j = pieces - 1; j >= 0; --j)
    reduce_partial_map_.add(partial_rows_ - j * tile_rows);
  partial_rows_ += tile_rows;
  merged_ += pieces;
}

// A tile that does not fit into the rest of its slot. By value, so that the loop over the entries
// keeps its own in registers.
bool SerialFill::place_cut(const Entry entry, const Tile tile) {
  // The tile's first row sees no key of a piece that begins after this page.
  const std::int64_t rows_left = entry.q_end - tile.q_begin;  // from that row to the last one
  const std::int64_t last_seen = unmerged_ ? std::max(entry.kv_begin, entry.kv_end - rows_left)
                                           : std::numeric_limits<std::int64_t>::max();
  const std::int64_t granularity = input_.kv_granularity;
  const std::int64_t overhead = overhead_;
  const std::int64_t fresh = capacity_ - overhead;  // blocks that an empty slot takes
  std::int64_t begin = entry.kv_begin;
  std::int64_t rest = tile.blocks;
  std::int64_t take = room_ - overhead;
  std::int64_t cuts = 0;
  for (; slots_left() && take < rest; take = fresh) {
    if (take > 0) {
      const std::int64_t next = begin + take * granularity;
      const std::int64_t end = std::min(next, tile.kv_end);
      if (absorbs_tail(entry, tile, end)) break;
      write(entry, tile, begin, end, partial_rows_);
      partial_rows_ += entry.tile_rows;
      begin = next;
      rest -= take;
      ++cuts;
    }
    close_slot();
  }
  if (!slots_left()) return true;
  if (begin > last_seen) return refuse_tail(entry.request, begin, tile.kv_end);
  write(entry, tile, begin, tile.kv_end, cuts == 0 ? -1 : partial_rows_);
  if (cuts > 0) merge(cuts + 1, tile, entry.tile_rows);
  finish_tile(rest);
  return true;
}

// What remains after a piece that ends at page `end` is too short for a work of its own.
inline bool SerialFill::absorbs_tail(const Entry& entry, const Tile& tile, std::int64_t end) const {
  if (input_.page_size == 1) return entry.kv_end - end < input_.key.max_qo_len;
  // The original leaves a last page that the first rows of the tile do not see to a work of its
  // own, where real kernels let them see it (BUG-012).
  return safe(input_) && input_.causal && tokens_after(entry, end) < entry.q_end - tile.q_begin;
}

void SerialFill::finish() {
  while (slots_left()) close_slot();
  reduce_indptr_.fill(merged_);
}

}  // namespace

Result<Plan> plan_v12_serial(const PlanInput& input, const PlanShape& shape,
                             const BufferSizes& sizes) {
  if (MaybeError bad = check_v12(input, shape)) return *bad;
  const Entries entries(input, shape);
  const Result<std::int64_t> demand = entries.demand();
  if (!demand) return demand.error();
  Plan plan(sizes);
  {
    const Blocks blocks(input.kv_granularity);
    SerialFill fill(input, shape, slot_capacity(input, shape, *demand), plan);
    // Inlined in the two loops over the entries: a call for each took a quarter of the time.
    entries.each([&](const Entry& entry) __attribute__((always_inline)) {
      for (std::int64_t t = 0; t < entry.tiles; ++t) {
        const std::int64_t q_begin = entry.q_begin + t * entry.tile_rows;
        if (!fill.place(entry, {.q_begin = q_begin,
                                .q_end = std::min(q_begin + entry.tile_rows, entry.q_end),
                                .blocks = blocks.of(entry.pages()),
                                .kv_end = entries.visible_end(entry, t)}))
          return false;
      }
      return true;
    });
    if (fill.refusal()) return *fill.refusal();
    fill.finish();
  }
  return checked_overruns(std::move(plan), input.fidelity);
}

}  // namespace mla::plan
