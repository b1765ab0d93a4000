#include "properties/generate/elements.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "properties/generate/hash.hpp"

namespace mla::prop {
namespace {

using Row = std::span<float, static_cast<std::size_t>(kKeyDim)>;

std::uint64_t row_key(const DataSpec& data, const RowId& id) {
  std::uint64_t key = mix(data.seed, static_cast<std::uint64_t>(id.tensor));
  key = mix(key, static_cast<std::uint64_t>(id.request));
  key = mix(key, static_cast<std::uint64_t>(id.position));
  return mix(key, static_cast<std::uint64_t>(id.head));
}

// Close to standard normal: the sum of four 16-bit uniforms (Irwin-Hall), centred and scaled by its
// standard deviation sqrt(4 * (2^32 - 1) / 12). Magnitude at most 131070 / 37837.2 = 3.4641.
float bell(std::uint64_t bits) {
  const auto sum = static_cast<std::int32_t>((bits & 0xFFFFU) + ((bits >> 16U) & 0xFFFFU) +
                                             ((bits >> 32U) & 0xFFFFU) + (bits >> 48U));
  return static_cast<float>(sum - 131070) * (1.0F / 37837.2F);
}

// Powers of two from -3 to 3, equally likely.
float power(std::uint64_t bits) {
  static constexpr std::array<float, 7> kPowers{0.125F, 0.25F, 0.5F, 1.0F, 2.0F, 4.0F, 8.0F};
  return kPowers[bits % kPowers.size()];
}

// A quarter of a normal, and one element in 64 16 times that: at most 3.4641 * 16 / 4 = 13.9.
float spiky(std::uint64_t bits) {
  const float small = 0.25F * bell(bits);
  return mix(bits) % 64 == 0 ? 16.0F * small : small;
}

// At most 3.4641 * 8 = 27.8.
float large(std::uint64_t bits) {
  return bell(bits) * power(mix(bits));
}

template <class F>
void fill(std::uint64_t key, Row values, F value_of) {
  for (std::size_t d = 0; d < values.size(); ++d) values[d] = value_of(mix(key + d * kGolden));
}

// One element that names its row: a wrong key shows in another dimension. A query's is large enough
// that the keys in its dimension stand out. Exact in bf16 and in both fp8 variants.
void fill_onehot(std::uint64_t key, TensorId tensor, Row values) {
  std::fill(values.begin(), values.end(), 0.0F);
  const float magnitude = 1.0F + static_cast<float>(mix(key + 1) % 8) / 8.0F;
  values[mix(key) % values.size()] = tensor == TensorId::query ? 16.0F * magnitude : magnitude;
}

}  // namespace

void element_row(const DataSpec& data, const RowId& id, Row values) {
  const std::uint64_t key = row_key(data, id);
  switch (data.kind) {
    case Distribution::normal:
      return fill(key, values, bell);
    case Distribution::spiky:
      return fill(key, values, spiky);
    case Distribution::large:
      return fill(key, values, large);
    case Distribution::constant:  // scores of 576 / 16 / sqrt(192) = 2.6; exact in every dtype
      return std::fill(values.begin(), values.end(), 0.25F);
    case Distribution::onehot:
      return fill_onehot(key, id.tensor, values);
  }
}

}  // namespace mla::prop
