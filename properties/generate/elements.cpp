#include "properties/generate/elements.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "properties/generate/hash.hpp"

// Half the time of a small case goes into its elements. The loops below are compiled once for each
// instruction set, into the functions of RowFunctions; what they call is inlined into those.
#define MLA_INLINE __attribute__((always_inline)) inline

namespace mla::prop {
namespace {

using Row = std::span<float, static_cast<std::size_t>(kDrawnDims)>;

std::uint64_t row_key(const DataSpec& data, const RowId& id) {
  std::uint64_t key = mix(data.seed, static_cast<std::uint64_t>(id.tensor));
  key = mix(key, static_cast<std::uint64_t>(id.request));
  key = mix(key, static_cast<std::uint64_t>(id.position));
  return mix(key, static_cast<std::uint64_t>(id.head));
}

using Bits = std::array<std::uint32_t, static_cast<std::size_t>(kDrawnDims)>;

// 32 random bits for every element of a row: one hash serves two, its low half first.
MLA_INLINE void fill_bits(std::uint64_t key, Bits& bits) {
  std::array<std::uint64_t, std::tuple_size_v<Bits> / 2> hashes;
  for (std::size_t pair = 0; pair < hashes.size(); ++pair) hashes[pair] = mix(key + pair * kGolden);
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(bits.data(), hashes.data(), sizeof bits);
}

// Close to standard normal: the sum of four 8-bit uniforms (Irwin-Hall), centred and scaled by its
// standard deviation sqrt(4 * (2^16 - 1) / 12). Magnitude at most 510 / 147.8 = 3.4506.
MLA_INLINE std::uint32_t sum_of_four(std::uint32_t bits) {
  const std::uint32_t pairs = (bits & 0x00FF00FFU) + ((bits >> 8U) & 0x00FF00FFU);
  return (pairs & 0xFFFFU) + (pairs >> 16U);
}
MLA_INLINE float normal(std::uint32_t sum) {
  return static_cast<float>(static_cast<std::int32_t>(sum) - 510) * (1.0F / 147.80054F);
}
MLA_INLINE float bell(std::uint32_t bits) {
  return normal(sum_of_four(bits));
}

MLA_INLINE void fill_normal(std::uint64_t key, Row values) {
  Bits bits;
  fill_bits(key, bits);
  for (std::size_t d = 0; d < values.size(); ++d) values[d] = bell(bits[d]);
}

// A quarter of a normal, and one element in 64 16 times that: at most 3.4506 * 16 / 4 = 13.9.
MLA_INLINE void fill_spiky(std::uint64_t key, Row values) {
  fill_normal(key, values);
  Bits bits;
  fill_bits(mix(key), bits);
  for (std::size_t d = 0; d < values.size(); ++d) values[d] *= bits[d] % 64 == 0 ? 4.0F : 0.25F;
}

// Powers of two from -3 to 3, equally likely: at most 3.4506 * 8 = 27.7.
MLA_INLINE void fill_large(std::uint64_t key, Row values) {
  static constexpr std::array<float, 7> kPowers{0.125F, 0.25F, 0.5F, 1.0F, 2.0F, 4.0F, 8.0F};
  fill_normal(key, values);
  Bits bits;
  fill_bits(mix(key), bits);
  for (std::size_t d = 0; d < values.size(); ++d) values[d] *= kPowers[bits[d] % kPowers.size()];
}

// One element that names its row: a wrong key shows in another dimension. A query's is large enough
// that the keys in its dimension stand out. Exact in bf16 and in both fp8 variants.
MLA_INLINE void fill_onehot(std::uint64_t key, TensorId tensor, Row values) {
  std::fill(values.begin(), values.end(), 0.0F);
  const float magnitude = 1.0F + static_cast<float>(mix(key + 1) % 8) / 8.0F;
  values[mix(key) % values.size()] = tensor == TensorId::query ? 16.0F * magnitude : magnitude;
}

MLA_INLINE void fill_row(const DataSpec& data, const RowId& id, Row values) {
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

template <Fp8Variant kVariant>
MLA_INLINE void encode_fp8(std::span<const float, static_cast<std::size_t>(kDrawnDims)> values,
                           float scale, std::byte* out) {
  for (std::size_t d = 0; d < values.size(); ++d)
    out[d] = std::byte{fp8_from_float(values[d] / scale, kVariant)};
}

MLA_INLINE void encode_row(const DataSpec& data, const RowId& id, const RowFormat& format,
                           std::byte* out) {
  std::array<float, static_cast<std::size_t>(kDrawnDims)> values;
  fill_row(data, id, values);
  if (format.dtype == Dtype::bf16) {
    std::array<std::uint16_t, values.size()> bits;
    for (std::size_t d = 0; d < values.size(); ++d)
      bits[d] = bf16_from_float(values[d], Bf16Rounding::nearest_even);
    std::memcpy(out, bits.data(), sizeof bits);
  } else if (format.variant == Fp8Variant::e4m3fn) {
    encode_fp8<Fp8Variant::e4m3fn>(values, format.scale, out);
  } else {
    encode_fp8<Fp8Variant::e4m3fnuz>(values, format.scale, out);
  }
}

#define MLA_ROWS(name, ...)                                                                        \
  struct name {                                                                                    \
    __VA_ARGS__ static void fill(const DataSpec& data, const RowId& id, Row values) {              \
      fill_row(data, id, values);                                                                  \
    }                                                                                              \
    __VA_ARGS__ static void encode(const DataSpec& data, const RowId& id, const RowFormat& format, \
                                   std::byte* out) {                                               \
      encode_row(data, id, format, out);                                                           \
    }                                                                                              \
  }
MLA_ROWS(Portable, );
#if defined(__x86_64__)
MLA_ROWS(Avx2, __attribute__((target("avx2"))));
MLA_ROWS(Avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))));
#endif

std::vector<RowFunctions> on_this_machine() {
  std::vector<RowFunctions> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0)
    found.push_back({"avx512", Avx512::fill, Avx512::encode});
  if (__builtin_cpu_supports("avx2") != 0) found.push_back({"avx2", Avx2::fill, Avx2::encode});
#endif
  found.push_back({"portable", Portable::fill, Portable::encode});
  return found;
}

}  // namespace

std::span<const RowFunctions> row_functions() {
  static const std::vector<RowFunctions> found = on_this_machine();
  return found;
}

void element_row(const DataSpec& data, const RowId& id, Row values) {
  row_functions().front().fill(data, id, values);
}

void encoded_row(const DataSpec& data, const RowId& id, const RowFormat& format, std::byte* out) {
  row_functions().front().encode(data, id, format, out);
}

}  // namespace mla::prop
