// 2^x of a wave by AVX2 or AVX-512, as this file is compiled: the bits of exp2_of(), lane by lane.
#include "hip_backend/gfx_emulator/exec/exp2-inl.hpp"

#include <cstdint>

#include "tests/catch.hpp"
#include "tests/skip.hpp"

namespace {

// Every `stride`-th wave of consecutive floats.
void same_bits(std::uint64_t stride) {
  using namespace mla::gfx;
#if defined(__AVX512DQ__)
  if (!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return mla::test::skip("no AVX-512 here");
#endif
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return mla::test::skip("no AVX2 here");
  alignas(64) u32 from[lanes], to[lanes];
  std::uint64_t wrong = 0;
  for (std::uint64_t first = 0; first < std::uint64_t{1} << 32; first += stride * lanes) {
    for (unsigned l = 0; l < lanes; ++l) from[l] = static_cast<u32>(first) + l;
    short_exp2_of_lanes(from, to);
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 expected = bits_of(exp2_of(float_of(from[l])));
      if (to[l] != expected && ++wrong == 1)
        UNSCOPED_INFO("of bits " << from[l] << ": " << to[l] << ", not " << expected);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("2^x of a wave has the bits of exp2_of() in every 97th wave of all floats") {
  same_bits(97);
}

TEST_CASE("2^x of a wave has the bits of exp2_of() for every float", "[.nightly]") {
  same_bits(1);
}
