// The text of one set of chains; the including file defines MLA_CHAINS and MLA_CHAINS_BYTES, and
// MLA_CHAINS_BF16 for chains of products of bf16 pairs.
#ifdef MLA_CHAINS_BF16
#include <immintrin.h>
#endif

#include "tests/benchmarks/fma_chains.hpp"

namespace mla::bench {
namespace {

typedef float Vec __attribute__((vector_size(MLA_CHAINS_BYTES)));

#ifdef MLA_CHAINS_BF16
constexpr std::int64_t kProducts = 2;  // of a lane in one step
Vec step(Vec x, Vec a, Vec b) {
  return reinterpret_cast<Vec>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(x), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
}
#else
constexpr std::int64_t kProducts = 1;
Vec step(Vec x, Vec a, Vec b) {
  return x * a + b;
}
#endif

// Twelve chains cover the latency of two units with four to six cycles and fit 16 registers.
float run(std::int64_t rounds) {
  Vec c[12];
  for (int i = 0; i < 12; ++i) c[i] = Vec{} + static_cast<float>(i);
  Vec a = Vec{} + 0.999F;
  Vec b = Vec{} + 1e-6F;
  asm volatile("" : "+m"(a), "+m"(b));
  for (std::int64_t r = 0; r < rounds; ++r)
    for (Vec& x : c) x = step(x, a, b);
  float sum = 0;
  for (const Vec& x : c)
    for (std::size_t lane = 0; lane < sizeof(Vec) / sizeof(float); ++lane) sum += x[lane];
  return sum;
}

}  // namespace

FmaChains MLA_CHAINS() {
  return {12 * 2 * kProducts * MLA_CHAINS_BYTES / 4, run};
}

}  // namespace mla::bench
