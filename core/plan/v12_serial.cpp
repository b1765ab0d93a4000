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

  Status place(const Entry& entry, std::int64_t number);
  Plan finish() &&;

 private:
  // Which blocks of a tile a piece has.
  struct Range {
    std::int64_t begin = 0;
    std::int64_t blocks = 0;
    bool last = false;
    bool forced = false;
  };
  struct Tile {
    std::int64_t number = 0;  // of the entry
    std::int64_t q_begin = 0;
    std::int64_t q_end = 0;
  };
  // A piece of a tile: its keys in pages, and what lies behind them in tokens.
  struct Piece {
    std::int64_t kv_begin = 0;
    std::int64_t kv_end = 0;
    std::int64_t kv_offset = 0;
    bool absorbs_tail = false;  // what would remain is too short for a work of its own
  };
  [[nodiscard]] Piece piece(const Entry& entry, const Tile& tile, const Range& range) const;
  Status emit(const Entry& entry, const Tile& tile, const Piece& piece, std::int64_t partial_row);
  [[nodiscard]] Error unmerged_tail(const Entry& entry, const Piece& piece, bool hidden) const;
  void merge(std::int64_t pieces, const Tile& tile, std::int64_t tile_rows);
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

SerialFill::Piece SerialFill::piece(const Entry& entry, const Tile& tile,
                                    const Range& range) const {
  const bool last = range.last;
  Piece out;
  out.kv_begin = entry.kv_begin + range.begin * input_.kv_granularity;
  out.kv_end = out.kv_begin + range.blocks * input_.kv_granularity;
  if (input_.page_size == 1) {
    const std::int64_t visible_end = entry.kv_end - causal_trim(input_, shape_, entry, tile.number);
    const std::int64_t least = input_.key.max_qo_len;  // keys that a last piece must have
    out.kv_end = std::min(out.kv_end, visible_end);
    const std::int64_t left = entry.kv_end - out.kv_end;
    out.absorbs_tail = !last && left < least;
    if (range.forced || out.absorbs_tail || (last && 0 < left && left < least))
      out.kv_end = visible_end;
    if (safe(input_) && entry.pages() == 0) out.kv_end = out.kv_begin;  // not before the request
    out.kv_offset = entry.kv_end - out.kv_end + entry.rows_after;
  } else {
    out.kv_end = std::min(out.kv_end, entry.kv_end);
    const std::int64_t left = entry.kv_end - out.kv_end;
    if (left != 0) out.kv_offset = (left - 1) * input_.page_size + entry.last_page_len;
    // The original leaves a last page that the first rows of the tile do not see to a work of its
    // own, where real kernels let them see it (BUG-012).
    out.absorbs_tail =
        safe(input_) && input_.causal && !last && out.kv_offset < entry.q_end - tile.q_begin;
  }
  return out;
}

// An empty work for a request that has keys, or one of which a row sees none: only possible where
// the tail merge is off or smaller than the causal trim, because max_qo_len is unknown.
Status SerialFill::emit(const Entry& entry, const Tile& tile, const Piece& piece,
                        std::int64_t partial_row) {
  const bool empty = entry.pages() > 0 && piece.kv_end <= piece.kv_begin;
  const bool hidden = input_.page_size == 1 && input_.causal && piece.kv_begin > entry.kv_begin &&
                      entry.kv_end - piece.kv_begin < tile.q_end - tile.q_begin;
  if (safe(input_) && (empty || hidden)) return unmerged_tail(entry, piece, hidden);
  plan_.set_work(works_++, {.batch = word(entry.batch),
                            .partial_row = word(partial_row),
                            .q_begin = word(tile.q_begin),
                            .q_end = word(tile.q_end),
                            .kv_begin = word(piece.kv_begin),
                            .kv_end = word(piece.kv_end),
                            .kv_offset = word(piece.kv_offset)});
  return std::nullopt;
}

Error SerialFill::unmerged_tail(const Entry& entry, const Piece& piece, bool hidden) const {
  return refused(
      say(request_name(entry.request), " gets a work from key ", piece.kv_begin, " to key ",
          piece.kv_end, ": max_qo_len = ", input_.key.max_qo_len, " leaves short tails unmerged"),
      hidden ? "BUG-012" : "");
}

// The tile is finished and was cut: name its pieces for the reducer.
void SerialFill::merge(std::int64_t pieces, const Tile& tile, std::int64_t tile_rows) {
  plan_.reduce_final_map.set(2 * tiles_, word(tile.q_begin));
  plan_.reduce_final_map.set(2 * tiles_ + 1, word(tile.q_end));
  for (std::int64_t j = 0; j < pieces; ++j)
    plan_.reduce_partial_map.set(merged_ + j, word(partial_rows_ - (pieces - 1 - j) * tile_rows));
  partial_rows_ += tile_rows;
  merged_ += pieces;
}

Status SerialFill::place(const Entry& entry, std::int64_t number) {
  const std::int64_t q_begin = entry.q_begin + number * entry.tile_rows;
  const Tile tile{number, q_begin, std::min(q_begin + entry.tile_rows, entry.q_end)};
  const std::int64_t blocks = Blocks(input_.kv_granularity).of(entry.pages());
  std::int64_t done = 0;
  std::int64_t cuts = 0;
  bool forced = false;
  while (slots_left()) {
    const std::int64_t rest = blocks - done;
    const bool last = forced || room_ >= rest + overhead_;
    const std::int64_t take = last ? rest : room_ - overhead_;
    if (last || take > 0) {
      const Piece next =
          piece(entry, tile, {.begin = done, .blocks = take, .last = last, .forced = forced});
      if (next.absorbs_tail) {
        forced = true;
        continue;
      }
      const std::int64_t partial_row = last && cuts == 0 ? -1 : partial_rows_;
      if (last && cuts > 0) merge(cuts + 1, tile, entry.tile_rows);
      if (Status bad = emit(entry, tile, next, partial_row)) return bad;
      if (last) {
        plan_.reduce_indptr.set(++tiles_, word(merged_));
        room_ -= rest + overhead_;  // below zero after an absorbed tail
        return std::nullopt;
      }
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
