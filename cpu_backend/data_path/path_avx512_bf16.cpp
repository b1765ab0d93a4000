#include "cpu_backend/data_path/data_path.hpp"

#if defined(__AVX512BF16__) && defined(__AVX512BW__)
#define MLA_PATH_NAMESPACE path_avx512_bf16
#define MLA_PATH_BYTES 64
#define MLA_PATH_SUMS 16
#define MLA_PATH_BF16
#include "cpu_backend/data_path/path-inl.hpp"

namespace mla::cpu {

const DataPath* avx512_bf16_path() {
  using namespace path_avx512_bf16;
  static constexpr DataPath path{"avx512-bf16", kLanes, scratch_bytes, attend, decode, round, exp2};
  return &path;
}

bool bf16_products_round_one_by_one() {
  using namespace path_avx512_bf16;
  std::uint32_t state = 1;
  // A sign, an exponent of 112 to 143 and seven more bits: no sum is subnormal or infinite.
  const auto half = [&state] {
    state = state * 1664525U + 1013904223U;
    return (state >> 16 & 0x8FFFU) + 0x3800U;
  };
  const auto value = [](std::uint32_t word, int shift) {
    return __builtin_bit_cast(float, word << shift & 0xFFFF0000U);
  };
  for (int round = 0; round < 256; ++round) {
    Bits sum{};
    Bits a{};
    Bits b{};
    for (int lane = 0; lane < kLanes; ++lane) {
      sum[lane] = half() << 16 | half();
      a[lane] = half() << 16 | half();
      b[lane] = half() << 16 | half();
    }
    const Vec found = dot_pairs(as_float(sum), a, b);
    for (int lane = 0; lane < kLanes; ++lane) {
      float expected = as_float(sum)[lane];
      for (const int shift : {0, 16})
        expected = __builtin_fmaf(value(a[lane], shift), value(b[lane], shift), expected);
      if (found[lane] != expected) return false;
    }
  }
  return true;
}

}  // namespace mla::cpu
#else
namespace mla::cpu {

const DataPath* avx512_bf16_path() {
  return nullptr;
}
bool bf16_products_round_one_by_one() {
  return false;
}

}  // namespace mla::cpu
#endif
