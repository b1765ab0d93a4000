// Packer: places all tiles of a draft so that every slot ends by a given time, if it can.
//
// Private to core/time. The largest tile first, cut into full slots; then each rest where it fits
// most closely, or cut over the emptiest slots. Fails: false where this way of placing finds no
// place, which does not mean that there is none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time/plan_draft.hpp"
#include "core/time/slot_curve.hpp"

namespace mla::timing {

class Packer {
 public:
  // `tiles` outlives the packer.
  explicit Packer(const DraftTiles& tiles);
  // No tile has more than `most_pieces`. `draft` is only of use if it is true.
  bool pack(const SlotCurve& curve, double end, std::int64_t most_pieces, Draft& draft);

 private:
  struct Slot {
    std::int64_t pieces = 0;
    std::int64_t blocks = 0;
  };
  struct Rest {
    std::int32_t tile = 0;
    std::int64_t blocks = 0;
    std::int64_t pieces_left = 0;
  };
  bool cut_into_full_slots(std::int64_t most_pieces, Draft& draft);
  bool place(Rest rest, Draft& draft);
  void put(std::int32_t slot, std::int32_t tile, std::int64_t blocks, Draft& draft);
  std::int32_t take(std::int64_t level);
  void list(std::int32_t slot);
  [[nodiscard]] std::int64_t level_from(std::int64_t least) const;  // -1: none
  [[nodiscard]] std::int64_t highest_level() const;

  const DraftTiles& tiles_;
  std::vector<std::int32_t> order_;  // tiles, the largest first
  std::vector<std::int64_t> room_;   // [p] blocks of a slot with p + 1 pieces, while above 0
  std::int64_t full_ = 0;            // of a slot with one
  std::int32_t empty_ = 0;           // slots from here on have no work
  std::vector<Slot> slots_;
  // Slots with a work by the blocks that a further piece may have: lists, and which have a slot.
  std::vector<std::int32_t> first_, next_;
  std::vector<std::uint64_t> levels_;
  std::vector<Rest> rests_;
};

}  // namespace mla::timing
