// A plan while it is searched for: tiles, the pieces they are cut into, the slots that run these.
//
// Private to core/time. A tile keeps the rows and the keys that the plan it comes from gives it;
// cuts, slots and merges are free. Blocks are runs of whole pages, the smallest amount of keys that
// is cut off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/time/step_load.hpp"

namespace mla::timing {

struct DraftTile {
  plan::WorkItem whole;        // the tile as one work that writes the output
  std::int64_t blocks = 1;     // all but the last hold DraftTiles::block_pages
  std::int64_t last_keys = 0;  // of the last one, more than a block where rows hide the last cut
  std::int64_t slab_rows = 0;  // rows of a partial result
  [[nodiscard]] std::int64_t rows() const { return std::int64_t{whole.q_end} - whole.q_begin; }
};

// What the search may choose from.
struct DraftTiles {
  std::vector<DraftTile> tiles;  // by request, then by rows
  std::int64_t block_pages = 1;
  std::int64_t block_keys = 1;
  std::int64_t slots = 1;
  std::int64_t most_pieces = 1;  // of a tile
  std::int64_t most_works = 1;   // records of work_info_set
  std::int64_t most_merged = 0;  // entries of reduce_partial_map
  std::int64_t heads = 1;        // packed rows of a row
  std::int64_t tile_rows = 0;    // packed rows of the largest
};
// `step` is valid. Blocks hold at least `tile_keys`.
DraftTiles draft_tiles(const PlannedStep& step, std::int64_t tile_keys);

struct DraftPiece {
  std::int32_t tile = 0;
  std::int32_t slot = 0;
  std::int64_t blocks = 1;
};
using Draft = std::vector<DraftPiece>;

// The buffers; `step` is the one that the tiles come from, whose buffers set the sizes. Pieces of a
// tile lie end to end in their order in the draft.
plan::Plan plan_of(const PlannedStep& step, const DraftTiles& tiles, const Draft& draft);

}  // namespace mla::timing
