// Widths of a row that are mixed up: each was one number for as long as all models had 512 + 64.
#include <cstring>
#include <vector>

#include "properties/generate/tensors.hpp"
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

// As many elements of an output are written as a row has latent ones; the others stay 0.
class ValueIsLatent final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const auto value = static_cast<std::size_t>(md.shape.widths.value().count());
    const auto latent = static_cast<std::size_t>(md.shape.widths.latent().count());
    for (std::size_t i = 0; i < result.out.size(); ++i)
      if (i % value >= latent) result.out[i] = 0;
  }
};

// The cache's writer takes the latent part for one element shorter than it is.
class RopeTooEarly final : public Interposer {
  void on_tensors(const Case& c, DecodeTensors& tensors) const override {
    const RowWidths w = c.widths();
    const auto shift = static_cast<std::size_t>(element_bytes(c.dtype.kv));
    if (w.rope().count() == 0) return;
    const auto latent = static_cast<std::size_t>(w.latent().count()) * shift;
    const auto row = static_cast<std::size_t>(tensors.cache.row_bytes());
    for (std::size_t at = 0; at < tensors.cache.bytes.size(); at += row) {
      std::byte* const rope = &tensors.cache.bytes[at + latent];
      std::memmove(rope - shift, rope, row - latent);
    }
  }
};

// The scale of 512 + 64, whatever the row is.
class ScaleOfBuiltIn final : public Interposer {
  void on_tensors(const Case&, DecodeTensors& tensors) const override {
    tensors.softmax_scale = kSoftmaxScale;
  }
};

constexpr Plant kWidthPlants[] = {
    {.id = "SEED-width-value",
     .property = "P45",
     .what = "An output has as many elements as the latent part, where all of a row are the value.",
     .case_line = "mla1:1q1s1;latent=16;rope=8;value=24",
     .make = plant_of<ValueIsLatent>,
     .imitated = true,
     .widths = true},
    {.id = "SEED-width-rope",
     .property = "P45",
     .what = "The cache's rope part begins one element too early, in the latent part.",
     .case_line = "mla1:1q1s1;latent=16;rope=8",
     .make = plant_of<RopeTooEarly>},
    {.id = "SEED-width-scale",
     .property = "P45",
     .what = "The softmax scale of 512 + 64 is taken for rows without a rope part.",
     .case_line = "mla1:1q1s1;rope=0",
     .make = plant_of<ScaleOfBuiltIn>,
     .widths = true},
};

}  // namespace

std::span<const Plant> width_plants() {
  return kWidthPlants;
}

}  // namespace mla::prop
