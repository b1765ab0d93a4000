// SlotCurve: how long a slot takes for so many pieces and blocks, and the other way round.
//
// Private to core/time. The formula is that of predict.hpp for one slot among others: what these
// load until it is done is either as much as it loads itself (shared()), or what the slots of a
// draft load (of_draft()). Times are predicted microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time/plan_draft.hpp"
#include "core/time/terms.hpp"

namespace mla::timing {

class SlotCurve {
 public:
  // `busy` slots that all have as many blocks as the one that is asked for.
  static SlotCurve shared(const Stage1Costs& costs, std::int64_t block_keys, std::int64_t busy);
  // The slots of a draft. `costs` has the rows that it moves.
  static SlotCurve of_draft(const Stage1Costs& costs, const DraftTiles& tiles, const Draft& draft);

  [[nodiscard]] double piece_us() const { return piece_us_; }
  [[nodiscard]] double time(std::int64_t pieces, std::int64_t blocks) const;
  // The most blocks of a slot with that many pieces that ends by then; 0: not even one.
  [[nodiscard]] std::int64_t most_blocks(std::int64_t pieces, double end) const;

 private:
  // Blocks that all slots load until this one has loaded `blocks`: from + slope * blocks, with the
  // part of the curve that holds there.
  struct Part {
    double begin = 0;  // blocks
    double from = 0;
    double slope = 0;
  };
  [[nodiscard]] double keys_time(const Part& part, double blocks) const;

  double piece_us_ = 0;
  double own_us_ = 0;        // of a block
  double all_us_ = 0;        // of a block of all slots together
  std::vector<Part> parts_;  // ascending
};

}  // namespace mla::timing
