// Speed of the planners beside the least that a plan costs: its poisoned buffers.
//
// Counter `poison`: the time of a Plan of the same sizes that is not filled, in microseconds, as
// measured in the same run. The batches are decodes with 16 heads, bf16, and lengths from 1 to 8192
// that differ; `bench_plan --benchmark_repetitions=5` shows the spread. `step` is what an engine
// pays a step: sizes, plan, works without keys taken out.
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "tests/benchmarks/expect.hpp"

namespace {

using namespace mla;

struct Question {
  std::vector<std::int32_t> qo_indptr{0};
  std::vector<std::int32_t> kv_indptr{0};
  std::vector<std::int32_t> last_page_len;
  plan::PlanInput input;
  plan::SizeQuery query;
  plan::BufferSizes sizes;

  Question(std::int64_t requests, std::int32_t rows)
      : last_page_len(static_cast<std::size_t>(requests), 1) {
    for (std::int64_t r = 0; r < requests; ++r) {
      qo_indptr.push_back(qo_indptr.back() + rows);
      kv_indptr.push_back(kv_indptr.back() + rows +
                          static_cast<std::int32_t>(r * 2654435761 % 8192));
    }
    input.key.max_qo_len = rows;
    input.uniform_qo_len = rows;
    input.qo_indptr = qo_indptr;
    input.kv_indptr = kv_indptr;
    input.last_page_len = last_page_len;
    query = {.batch = Requests(requests), .max_qo_len = rows};
    sizes = expect(plan::query_sizes(query));
  }
};

double microseconds_of_poison(const plan::BufferSizes& sizes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimes = 200;
  const auto begin = Clock::now();
  for (int i = 0; i < kTimes; ++i) {
    plan::Plan plan(sizes);
    benchmark::DoNotOptimize(plan.work_info.data().data());
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kTimes;
}

void planner(benchmark::State& state, plan::V12Kernel kernel, std::int32_t rows) {
  Question q(state.range(0), rows);
  q.input.kernel = kernel;
  for (auto _ : state) {
    auto plan = plan::make_plan(q.input, q.sizes);
    if (!plan) return state.SkipWithError(plan.error().message.c_str());
    benchmark::DoNotOptimize(plan);
  }
  state.counters["poison"] = microseconds_of_poison(q.sizes);
}

void step(benchmark::State& state) {
  const Question q(state.range(0), 1);
  for (auto _ : state) {
    auto plan = plan_step(q.input, q.query);
    if (!plan) return state.SkipWithError(plan.error().message.c_str());
    benchmark::DoNotOptimize(plan);
  }
}

BENCHMARK_CAPTURE(planner, parallel, plan::V12Kernel::parallel, 1)->Arg(16)->Arg(256)->Arg(4096);
BENCHMARK_CAPTURE(planner, serial, plan::V12Kernel::serial, 1)->Arg(16)->Arg(256)->Arg(4096);
BENCHMARK_CAPTURE(planner, serial_4_rows, plan::V12Kernel::serial, 4)->Arg(16)->Arg(256)->Arg(4096);
BENCHMARK(step)->Arg(16)->Arg(256)->Arg(4096);

}  // namespace

BENCHMARK_MAIN();
