// What an earlier step left in buffers, or in the builder, and a later step takes for its own.
//
// A plant keeps no state between builds: what the step before was is read off the buffers that it
// left, as on_buffers() sees them, and kept for the rest of this build on this thread.
#include <algorithm>

#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

thread_local DecodeBuffers earlier;

// Buffers that a step has used end with its totals; fresh ones are all zero.
bool used(const DecodeBuffers& buffers) {
  return !buffers.qo_indptr.empty() && buffers.qo_indptr.back() > 0;
}

class StaleRows final : public Interposer {
  void on_buffers(DecodeBuffers& buffers) const override { earlier = buffers; }
  void on_index_lists(const Batch&, DecodeMetadata&, DecodeBuffers& buffers) const override {
    if (used(earlier))
      std::copy(earlier.qo_indptr.begin(), earlier.qo_indptr.end(), buffers.qo_indptr.begin());
  }
};

class StaleTail final : public Interposer {
  void on_buffers(DecodeBuffers& buffers) const override { earlier = buffers; }
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    const auto live = static_cast<std::ptrdiff_t>(md.kv_indptr.size());
    std::copy(earlier.kv_indptr.begin() + live, earlier.kv_indptr.end(),
              buffers.kv_indptr.begin() + live);
  }
};

// The builder remembers that it has a plan, and hands it out again.
class StalePlan final : public Interposer {
  void on_buffers(DecodeBuffers& buffers) const override { earlier = buffers; }
  void on_plan_query(const DecodeMetadata& md, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    if (!used(earlier)) return;
    input.qo_indptr = std::span(earlier.qo_indptr).first(md.qo_indptr.size());
    input.kv_indptr = std::span(earlier.kv_indptr).first(md.kv_indptr.size());
    input.fidelity = plan::Fidelity::as_aiter;
  }
};

class StaleLastPages final : public Interposer {
  void on_buffers(DecodeBuffers& buffers) const override { earlier = buffers; }
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    if (!used(earlier)) return;
    // Rows keep the pages of the step before wherever those fit.
    const auto live = static_cast<std::ptrdiff_t>(std::max(0, md.kv_indptr.back()));
    std::copy(earlier.kv_indices.begin(), earlier.kv_indices.begin() + live,
              buffers.kv_indices.begin());
  }
};

constexpr Plant kReusePlants[] = {
    {"BUG-045", "P03", "qo_indptr keeps the values of a step in another mode.", "mla1:1q1s1",
     plant_of<StaleRows>},
    {"BUG-048", "P04", "The tail of kv_indptr keeps the values of a larger batch.", "mla1:1q1s1",
     plant_of<StaleTail>},
    {"SEED-stale-plan", "P03",
     "Whether a plan exists is a flag of the builder, so that the next step runs on the plan of "
     "this one.",
     "mla1:1q1s1", plant_of<StalePlan>},
    {"BUG-046", "P03", "A step reads the page indices that a step in another mode has left.",
     "mla1:1q1s1_1q1s1", plant_of<StaleLastPages>},
};

}  // namespace

std::span<const Plant> reuse_plants() {
  return kReusePlants;
}

}  // namespace mla::prop
