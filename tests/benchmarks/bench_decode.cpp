// Speed of the CPU backend on whole decode steps, against the machine's own ceiling.
//
// A step is counted as 2 * (576 + 512) flop for each (query row, model head, visible key); building
// the step is not timed, everything that Backend::run() does is. Counters: GFLOP/s over all
// iterations and of the best one, the FMA ceiling measured in the same run with the same number of
// threads, the ratios to it, and the most memory with tensors and results. `bench_decode
// --benchmark_repetitions=5` shows the spread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/generate/tensors.hpp"
#include "tests/benchmarks/expect.hpp"
#include "tests/benchmarks/fma_peak.hpp"
#include "tests/benchmarks/peak_memory.hpp"
#include "tests/built_in_dims.hpp"

namespace {

using namespace mla;

struct Step {
  explicit Step(const std::string& line)
      : spec(expect(parse_case(line))),
        batch(expect(make_batch(spec))),
        shape(expect(resolve_shape(spec, batch))),
        buffers(make_decode_buffers(spec, batch, shape)),
        metadata(expect(DecodeMetadataBuilder({.max_requests = 0}, StepHooks::none())
                            .build(batch, shape, buffers))),
        tensors(prop::make_tensors(spec, batch)) {}

  [[nodiscard]] double flop() const {
    double pairs = 0;
    for (const auto [q, n] : batch.requests)
      for (std::int64_t i = 0; i < q; ++i)
        pairs += static_cast<double>(spec.causal ? n - q + 1 + i : n);
    return pairs * static_cast<double>(spec.heads * 2 * (kKeyDim + kValueDim));
  }

  Case spec;
  Batch batch;
  ResolvedShape shape;
  DecodeBuffers buffers;
  DecodeMetadata metadata;
  DecodeTensors tensors;
};

double peak(int threads) {
  static std::map<int, double> known;
  const auto [at, fresh] = known.try_emplace(threads, 0);
  if (fresh) at->second = bench::fma_peak(threads);
  return at->second;
}

void decode(benchmark::State& state, const std::string& line, int threads) {
  // One step at a time: the tensors of a large one fill hundreds of megabytes.
  static std::string built;
  static std::unique_ptr<Step> step;
  if (built != line) step = std::make_unique<Step>(line), built = line;
  const auto backend = cpu::make_cpu_backend();
  using Clock = std::chrono::steady_clock;
  double total = 0;
  double shortest = std::numeric_limits<double>::infinity();
  bench::reset_peak();
  for (auto _ : state) {
    const auto begin = Clock::now();
    auto result = backend->run({step->metadata, step->tensors}, {.threads = threads});
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    total += seconds;
    shortest = std::min(shortest, seconds);
    if (!result || !result->faults.empty()) state.SkipWithError("the step failed");
    benchmark::DoNotOptimize(result);
  }
  const double gflop = step->flop() * 1e-9;
  const double mean = gflop * static_cast<double>(state.iterations()) / total;
  state.counters["GFLOP/s"] = mean;
  state.counters["best"] = gflop / shortest;
  state.counters["ceiling"] = peak(threads);
  state.counters["ratio"] = mean / peak(threads);
  state.counters["peak_MB"] = bench::peak_megabytes();
  state.counters["best_ratio"] = gflop / shortest / peak(threads);
}

const std::pair<const char*, const char*> kSteps[] = {
    {"128x32768x128_fp8", "mla1:128q1s32k;heads=128;arch=gfx950;dtype=fp8/fp8"},
    {"32x4096x128_bf16", "mla1:32q1s4k;heads=128;arch=gfx950;dtype=bf16/bf16"},
    {"32x4096x128_fp8", "mla1:32q1s4k;heads=128;arch=gfx950;dtype=fp8/fp8"},
    {"64x2048x128_bf16", "mla1:64q1s2k;heads=128;arch=gfx950;dtype=bf16/bf16"},
    {"64x2048x128_q4_bf16", "mla1:64q4s2k;heads=128;arch=gfx950;dtype=bf16/bf16"},
    {"64x2048x128_fp8", "mla1:64q1s2k;heads=128;arch=gfx950;dtype=fp8/fp8"},
    {"1x8192x16_bf16", "mla1:1q1s8k;heads=16;arch=gfx942;dtype=bf16/bf16"},
    {"1x8192x16_fp8", "mla1:1q1s8k;heads=16;arch=gfx942;dtype=fp8/fp8"},
    {"16x4096x16_bf16", "mla1:16q1s4k;heads=16;arch=gfx942;dtype=bf16/bf16"},
    {"16x4096x16_q4_bf16", "mla1:16q4s4k;heads=16;arch=gfx942;dtype=bf16/bf16"},
    {"16x4096x16_fp8", "mla1:16q1s4k;heads=16;arch=gfx942;dtype=fp8/fp8"},
    {"128x1024x16_bf16", "mla1:128q1s1k;heads=16;arch=gfx942;dtype=bf16/bf16"},
    {"128x1024x16_q4_bf16", "mla1:128q4s1k;heads=16;arch=gfx942;dtype=bf16/bf16"},
    {"128x1024x16_fp8", "mla1:128q1s1k;heads=16;arch=gfx942;dtype=fp8/fp8"},
    {"128heads_folded_bf16", "mla1:8q1s4k;heads=128;arch=gfx942;dtype=bf16/bf16"},
    {"16heads_split_bf16", "mla1:32q1s4k;heads=16;arch=gfx950;dtype=bf16/bf16;planner=none"},
    {"small_16heads", "mla1:2q2s300;heads=16;arch=gfx942;dtype=bf16/bf16"},
};

}  // namespace

int main(int argc, char** argv) {
  std::printf("data path: %s\n", std::string(cpu::name(cpu::available_isas().front())).c_str());
  for (const auto& [name, line] : kSteps)
    for (const int threads : {1, 2})
      benchmark::RegisterBenchmark(
          (std::string(name) + "/threads:" + std::to_string(threads)).c_str(), decode,
          std::string(line), threads)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
