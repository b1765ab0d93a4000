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

using Bits = std::array<std::uint32_t, static_cast<std::size_t>(kKeyDim)>;

// 32 random bits for every element of a row: one hash serves two. A loop of its own, so that those
// behind it run in vectors.
void fill_bits(std::uint64_t key, Bits& bits) {
  for (std::size_t pair = 0; pair < bits.size() / 2; ++pair) {
    const std::uint64_t hash = mix(key + pair * kGolden);
    bits[2 * pair] = static_cast<std::uint32_t>(hash);
    bits[2 * pair + 1] = static_cast<std::uint32_t>(hash >> 32U);
  }
}

// Close to standard normal: the sum of four 8-bit uniforms (Irwin-Hall), centred and scaled by its
// standard deviation sqrt(4 * (2^16 - 1) / 12). Magnitude at most 510 / 147.8 = 3.4506.
std::uint32_t sum_of_four(std::uint32_t bits) {
  const std::uint32_t pairs = (bits & 0x00FF00FFU) + ((bits >> 8U) & 0x00FF00FFU);
  return (pairs & 0xFFFFU) + (pairs >> 16U);
}
float normal(std::uint32_t sum) {
  return static_cast<float>(static_cast<std::int32_t>(sum) - 510) * (1.0F / 147.80054F);
}
float bell(std::uint32_t bits) {
  return normal(sum_of_four(bits));
}

void fill_normal(std::uint64_t key, Row values) {
  Bits bits;
  fill_bits(key, bits);
  for (std::size_t d = 0; d < values.size(); ++d) values[d] = bell(bits[d]);
}

// A quarter of a normal, and one element in 64 16 times that: at most 3.4506 * 16 / 4 = 13.9.
void fill_spiky(std::uint64_t key, Row values) {
  fill_normal(key, values);
  Bits bits;
  fill_bits(mix(key), bits);
  for (std::size_t d = 0; d < values.size(); ++d) values[d] *= bits[d] % 64 == 0 ? 4.0F : 0.25F;
}

// Powers of two from -3 to 3, equally likely: at most 3.4506 * 8 = 27.7.
void fill_large(std::uint64_t key, Row values) {
  static constexpr std::array<float, 7> kPowers{0.125F, 0.25F, 0.5F, 1.0F, 2.0F, 4.0F, 8.0F};
  fill_normal(key, values);
  Bits bits;
  fill_bits(mix(key), bits);
  for (std::size_t d = 0; d < values.size(); ++d) values[d] *= kPowers[bits[d] % kPowers.size()];
}

// One element that names its row: a wrong key shows in another dimension. A query's is large enough
// that the keys in its dimension stand out. Exact in bf16 and in both fp8 variants.
void fill_onehot(std::uint64_t key, TensorId tensor, Row values) {
  std::fill(values.begin(), values.end(), 0.0F);
  const float magnitude = 1.0F + static_cast<float>(mix(key + 1) % 8) / 8.0F;
  values[mix(key) % values.size()] = tensor == TensorId::query ? 16.0F * magnitude : magnitude;
}

}  // namespace

float normal_value(std::size_t index) {
  return normal(static_cast<std::uint32_t>(index));
}

void normal_indices(const DataSpec& data, const RowId& id,
                    std::span<std::uint16_t, static_cast<std::size_t>(kKeyDim)> indices) {
  Bits bits;
  fill_bits(row_key(data, id), bits);
  for (std::size_t d = 0; d < indices.size(); ++d)
    indices[d] = static_cast<std::uint16_t>(sum_of_four(bits[d]));
}

void element_row(const DataSpec& data, const RowId& id, Row values) {
  const std::uint64_t key = row_key(data, id);
  switch (data.kind) {
    case Distribution::normal:
      return fill_normal(key, values);
    case Distribution::spiky:
      return fill_spiky(key, values);
    case Distribution::large:
      return fill_large(key, values);
    case Distribution::constant:  // scores of 576 / 16 / sqrt(192) = 2.6; exact in every dtype
      return std::fill(values.begin(), values.end(), 0.25F);
    case Distribution::onehot:
      return fill_onehot(key, id.tensor, values);
  }
}

}  // namespace mla::prop
