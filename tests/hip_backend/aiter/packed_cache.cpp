#include "tests/hip_backend/aiter/packed_cache.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "hip_backend/aiter/stage1.hpp"
#include "tests/built_in_dims.hpp"

namespace mla::hip::aiter::test {
namespace {

constexpr auto kLatents = static_cast<std::size_t>(kLatentDim);
constexpr auto kScales = static_cast<std::size_t>(kPackedScales);
constexpr std::size_t kQuarter = kLatents / kScales;
constexpr std::size_t kScaleBytes = kScales * 4;
constexpr std::size_t kRopeBytes = static_cast<std::size_t>(kRopeDim) * 2;

using Row = std::array<std::uint16_t, static_cast<std::size_t>(kKeyDim)>;

}  // namespace

void clear_nan(KvCache& cache) {
  Row row;
  for (std::size_t at = 0; at < cache.bytes.size(); at += sizeof row) {
    std::memcpy(row.data(), &cache.bytes[at], sizeof row);
    if (std::isnan(bf16_to_float(row[0]))) std::memset(&cache.bytes[at], 0, sizeof row);
  }
}

std::vector<std::byte> pack_cache(KvCache& cache, std::int64_t page_size, Fp8Variant variant) {
  const auto page = static_cast<std::size_t>(page_size);
  const auto first = static_cast<std::size_t>(cache.first_slot);
  const auto end = first + static_cast<std::size_t>(cache.slots);
  constexpr auto token_bytes = static_cast<std::size_t>(kPackedTokenBytes);
  std::vector<std::byte> packed(end * token_bytes);
  Row row;
  for (std::size_t slot = first; slot < end; ++slot) {
    std::byte* const source = &cache.bytes[(slot - first) * sizeof row];
    std::memcpy(row.data(), source, sizeof row);
    const std::size_t within = slot % page;
    std::byte* const start = &packed[(slot - within) * token_bytes];  // of the page
    std::byte* const latents = start + within * kLatents;
    std::byte* const scales = start + page * kLatents + within * kScaleBytes;
    std::byte* const rope = start + page * (kLatents + kScaleBytes) + within * kRopeBytes;
    for (std::size_t quarter = 0; quarter < kScales; ++quarter) {
      const float scale = std::ldexp(0.25F, static_cast<int>((slot + quarter) % 4));
      std::memcpy(scales + quarter * 4, &scale, sizeof scale);
      for (std::size_t i = quarter * kQuarter; i < (quarter + 1) * kQuarter; ++i) {
        const std::uint8_t code = fp8_from_float(bf16_to_float(row[i]) / scale, variant);
        latents[i] = std::byte{code};
        row[i] = bf16_from_float(fp8_to_float(code, variant) * scale, Bf16Rounding::nearest_even);
      }
    }
    std::memcpy(rope, &row[kLatents], kRopeBytes);
    std::memcpy(source, row.data(), sizeof row);
  }
  return packed;
}

}  // namespace mla::hip::aiter::test
