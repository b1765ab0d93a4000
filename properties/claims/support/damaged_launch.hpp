// A launch of damaged metadata, and what must become of it: the second half of P39.
//
// Kernel rows, works, slots and tiles are those of the undamaged plan. Fails: as an outcome, with
// the name of the damage.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/decode_metadata.hpp"
#include "properties/step/property.hpp"

namespace mla::prop {

// The lists of a step, each with sound words after its end: a check that is off by one finds those,
// and not whatever the heap holds there.
class StepLists {
 public:
  explicit StepLists(const DecodeMetadata& md);
  std::vector<std::int32_t> kv_indices, last_page_len;
  // The step with these lists, which outlive it, and this plan.
  [[nodiscard]] DecodeMetadata with(const DecodeMetadata& md, std::optional<plan::Plan> plan) const;

 private:
  std::vector<std::int32_t> qo_indptr_, kv_indptr_;
};

// Rows of the launch that request `r` has, its leading ones left out.
std::int64_t rows_of(const DecodeMetadata& md, std::int64_t r);

// The requests that have a work in this slot, or rows in this merge.
std::vector<std::int64_t> requests_of_slot(const DecodeMetadata& md, std::int64_t slot);
std::vector<std::int64_t> requests_of_tile(const DecodeMetadata& md, std::int64_t tile);

struct DamagedLaunch {
  const DecodeMetadata& metadata;
  std::string name;
  std::vector<std::int64_t> requests;  // all others keep their bits
  const char* words = "";              // of one of its faults
  RowRange dropped = {};               // kernel rows of a work that must not run
  RowRange keyless = {};               // kernel rows of a work that runs without a key
};

// The launch has a fault, or is refused as a whole. Requests but the damaged ones keep their bits,
// rows of a dropped work are NaN, and those without a key have output 0 and LSE -inf, or are NaN.
Outcome judge_launch(Subject& subject, const DamagedLaunch& launch);

}  // namespace mla::prop
