#include "tests/benchmarks/fma_peak.hpp"

#include <algorithm>
#include <chrono>

#include "cpu_backend/cpu_backend.hpp"
#include "tests/benchmarks/fma_chains.hpp"

namespace mla::bench {
namespace {

FmaChains best_chains() {
  switch (cpu::available_isas().front()) {
    case cpu::Isa::avx512_bf16:
      return avx512_bf16_chains();
    case cpu::Isa::avx512:
      return avx512_chains();
    case cpu::Isa::avx2:
      return avx2_chains();
    case cpu::Isa::portable:
      break;
  }
  return portable_chains();
}

}  // namespace

double fma_peak(int threads) {
  constexpr std::int64_t kRounds = 4'000'000;
  const FmaChains chains = best_chains();
  double best = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    float sum = 0;
    const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum += chains.run(kRounds);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    const double flop = static_cast<double>(chains.flop_per_round) * kRounds * threads;
    if (sum != 0) best = std::max(best, flop / time.count() * 1e-9);
  }
  return best;
}

}  // namespace mla::bench
