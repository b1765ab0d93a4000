// The text of one set of chains; the including file defines MLA_CHAINS and MLA_CHAINS_BYTES.
#include "tests/benchmarks/fma_chains.hpp"

namespace mla::bench {
namespace {

typedef float Vec __attribute__((vector_size(MLA_CHAINS_BYTES)));

// Twelve chains cover the latency of two units with four to six cycles and fit 16 registers.
float run(std::int64_t rounds) {
  Vec c[12];
  for (int i = 0; i < 12; ++i) c[i] = Vec{} + static_cast<float>(i);
  Vec a = Vec{} + 0.999F;
  Vec b = Vec{} + 1e-6F;
  asm volatile("" : "+m"(a), "+m"(b));
  for (std::int64_t r = 0; r < rounds; ++r)
    for (Vec& x : c) x = x * a + b;
  float sum = 0;
  for (const Vec& x : c)
    for (std::size_t lane = 0; lane < sizeof(Vec) / sizeof(float); ++lane) sum += x[lane];
  return sum;
}

}  // namespace

FmaChains MLA_CHAINS() {
  return {12 * 2 * MLA_CHAINS_BYTES / 4, run};
}

}  // namespace mla::bench
