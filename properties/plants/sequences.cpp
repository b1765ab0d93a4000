// Order, lifetime and ownership between the steps of a sequence, and rows that a launch adds.
//
// The defects themselves live where the steps are driven (properties/engine/sequence.hpp).
#include <algorithm>

#include "properties/engine/sequence.hpp"
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

template <SequenceDefect kDefect>
class Between final : public Interposer {
  [[nodiscard]] SequenceDefect sequence_defect() const override { return kDefect; }
};

// The zero rows are taken off the end of each request, where they are not.
class CutAtTheEnd final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const ResolvedShape& shape = md.shape;
    if (shape.leading_rows == 0) return;
    const std::int64_t heads = shape.heads.model.count();
    const std::int64_t request = shape.uniform_qo_len * heads;
    const auto shift = [&](auto& values, std::int64_t width) {
      const std::int64_t lead = shape.leading_rows * heads * width;
      for (std::int64_t r = 0; r < md.requests().count(); ++r) {
        const auto begin = values.begin() + r * request * width;
        std::copy_backward(begin, begin + request * width - lead, begin + request * width);
      }
    };
    shift(result.out, kValueDim);
    shift(result.lse, 1);
  }
};

using enum SequenceDefect;
constexpr Plant kPlants[] = {
    {"BUG-068-decode", "P19", "A buffer that the captured launch reads is freed before the replay.",
     "mla1:1q1s1", plant_of<Between<freed_buffer>>},
    {"BUG-083", "P19",
     "Later steps are planned into fresh buffers, which no captured launch reads.", "mla1:1q1s1",
     plant_of<Between<plan_outside>>},
    {"BUG-081", "P20", "Lengths and block table of the next step arrive before this one has run.",
     "mla1:1q1s1", plant_of<Between<unordered_upload>>},
    {"SEED-shared-staging", "P20", "All steps share one host buffer, refilled while copies wait.",
     "mla1:1q1s1", plant_of<Between<shared_staging>>},
    {"BUG-038", "P21", "A boolean mask over the block table makes the host wait in every build.",
     "mla1:1q1s1", plant_of<Between<synchronise_in_build>>},
    {"BUG-114", "P21", "The tail of a list is filled from a device scalar, by way of the host.",
     "mla1:1q1s1", plant_of<Between<item_in_build>>},
    {"SEED-shared-groups", "P30", "The draft's metadata is built into the buffers of the target.",
     "mla1:1q1s1", plant_of<Between<shared_buffers>>},
    {"SEED-raised-rows", "P12", "The rows in front of a raised request are cut off its end.",
     "mla1:1q2s2;qpad=4", plant_of<CutAtTheEnd>},
};

}  // namespace

std::span<const Plant> sequence_plants() {
  return kPlants;
}

}  // namespace mla::prop
