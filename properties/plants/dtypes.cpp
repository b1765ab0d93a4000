// Element types and scales that are decided twice, assumed, or forgotten.
#include <cmath>
#include <limits>

#include "core/numeric/fp8.hpp"
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

constexpr DtypePair kBf16{Dtype::bf16, Dtype::bf16};

class PlannerWithoutDtypes final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    input.key.dtype = kBf16;
  }
};

class SizesFromModelDtype final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput&,
                     plan::SizeQuery& query) const override {
    query.dtype.q = Dtype::bf16;
  }
};

class UnknownAlias final : public Interposer {
  void on_shape(const Case&, const Batch&, ResolvedShape& shape) const override {
    shape.dtype.q = Dtype::bf16;
  }
};

class RouteForFp8 final : public Interposer {
  void on_shape(const Case&, const Batch&, ResolvedShape& shape) const override {
    if (shape.route == Route::split || !(shape.dtype == kBf16)) return;
    const auto kernel = find_persistent_kernel(shape.arch, {Dtype::fp8, Dtype::fp8},
                                               shape.heads.kernel.count(), shape.max_qo_len);
    if (kernel) shape.kernel = *kernel;
  }
};

class CheckpointScale final : public Interposer {
  void on_tensors(const Case& c, DecodeTensors& tensors) const override {
    if (c.dtype.kv == Dtype::bf16) tensors.kv_scale = c.decode().kv_scale;
  }
};

class NoScale final : public Interposer {
  void on_tensors(const Case& c, DecodeTensors& tensors) const override {
    if (c.dtype.q == Dtype::fp8) tensors.q_scale = std::numeric_limits<float>::quiet_NaN();
  }
};

// The scale covers the latent part of a row only; the rope part saturates under it.
class ScaleFromLatent final : public Interposer {
  void on_tensors(const Case& c, DecodeTensors& tensors) const override {
    if (c.dtype.kv != Dtype::fp8) return;
    const Fp8Variant variant = fp8_variant(c.arch);
    const auto key = static_cast<std::size_t>(c.widths().key().count());
    const auto latent = static_cast<std::size_t>(c.widths().latent().count());
    for (std::size_t i = 0; i < tensors.cache.bytes.size(); ++i) {
      if (i % key < latent) continue;
      const float value = fp8_to_float(static_cast<std::uint8_t>(tensors.cache.bytes[i]), variant);
      if (!std::isnan(value))
        tensors.cache.bytes[i] = std::byte{fp8_from_float(value * 4096, variant)};
    }
  }
};

constexpr Plant kDtypesPlants[] = {
    {"BUG-023", "P15", "The planner is called without dtypes and takes bf16.",
     "mla1:1q1s1;dtype=fp8/fp8", plant_of<PlannerWithoutDtypes>},
    {"BUG-027", "P15", "The buffers are sized for the model's dtype, the query is quantised.",
     "mla1:1q1s1;dtype=fp8/fp8", plant_of<SizesFromModelDtype>},
    {"BUG-030", "P15", "An alias of the dtype is not recognised, and the query counts as bf16.",
     "mla1:1q1s1;dtype=fp8/fp8", plant_of<UnknownAlias>},
    {"BUG-096", "P28", "A bf16 cache is routed to an fp8 kernel.", "mla1:1q1s1",
     plant_of<RouteForFp8>},
    {"BUG-031", "P16", "The checkpoint's scale is applied although the cache is bf16.",
     "mla1:1q1s1", plant_of<CheckpointScale>},
    {"BUG-029", "P33", "An fp8 query comes without a scale.", "mla1:1q1s1;dtype=fp8/fp8",
     plant_of<NoScale>},
    {"BUG-026", "P16",
     "The cache's scale is taken from the latent part, and the rope part saturates.",
     "mla1:1q1s1;dtype=fp8/fp8", plant_of<ScaleFromLatent>},
};

}  // namespace

std::span<const Plant> dtype_plants() {
  return kDtypesPlants;
}

}  // namespace mla::prop
