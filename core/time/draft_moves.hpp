// Local moves that make the slowest slot of a draft faster.
//
// Private to core/time. A piece goes to the fastest slot, or changes places with one of it, or is
// cut, or gives blocks to another piece of its tile.
#pragma once

#include "core/time/plan_draft.hpp"
#include "core/time/slot_curve.hpp"

namespace mla::timing {

// The draft keeps to the limits of `tiles`, and no tile gets more than `most_pieces`.
void improve(const DraftTiles& tiles, const SlotCurve& curve, std::int64_t most_pieces,
             Draft& draft);

}  // namespace mla::timing
