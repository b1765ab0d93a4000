// Speed of the search of a faster plan beside the planner whose plan it starts from.
//
// Counter `planner`: the time of planner v1.2 on the same batch, in microseconds, as measured in
// the same run. The batches are decodes with 16 heads, fp8, on gfx950, lengths from 1 to 8192 that
// differ; `long_tail` has one request of 131072 keys as well.
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/time/plan_search.hpp"
#include "tests/benchmarks/expect.hpp"

namespace {

using namespace mla;

struct Searched {
  std::vector<std::int32_t> qo_indptr{0};
  std::vector<std::int32_t> kv_indptr{0};
  std::vector<std::int32_t> last_page_len;
  plan::PlanInput input;
  plan::SizeQuery query;
  PlanShape shape;

  Searched(std::int64_t requests, bool long_tail) {
    for (std::int64_t r = 0; r < requests; ++r) {
      const std::int64_t keys = long_tail && r == 0 ? 131072 : 1 + r * 2654435761 % 8192;
      qo_indptr.push_back(qo_indptr.back() + 1);
      kv_indptr.push_back(kv_indptr.back() + static_cast<std::int32_t>(keys));
      last_page_len.push_back(1);
    }
    input.key = {.arch = Arch::gfx950,
                 .compute_units = ComputeUnits(256),
                 .dtype = {Dtype::fp8, Dtype::fp8},
                 .max_qo_len = 1};
    input.uniform_qo_len = 1;
    input.qo_indptr = qo_indptr;
    input.kv_indptr = kv_indptr;
    input.last_page_len = last_page_len;
    query = {.arch = Arch::gfx950,
             .compute_units = ComputeUnits(256),
             .batch = Requests(requests),
             .max_qo_len = 1,
             .dtype = input.key.dtype};
    shape = expect(resolve_plan_shape(input.key));
  }

  [[nodiscard]] timing::PlannedStep step(const plan::Plan& plan) const {
    return {.check = {.plan = plan.view(),
                      .qo_indptr = qo_indptr,
                      .kv_indptr = kv_indptr,
                      .last_page_len = last_page_len,
                      .shape = shape},
            .arch = Arch::gfx950,
            .dtype = input.key.dtype,
            .units = ComputeUnits(256),
            .granularity = input.kv_granularity};
  }
};

double microseconds_of_planner(const Searched& s) {
  using Clock = std::chrono::steady_clock;
  constexpr int kTimes = 50;
  const auto begin = Clock::now();
  for (int i = 0; i < kTimes; ++i) {
    auto plan = plan_step(s.input, s.query);
    benchmark::DoNotOptimize(plan);
  }
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kTimes;
}

void search(benchmark::State& state, bool long_tail) {
  const Searched s(state.range(0), long_tail);
  const plan::Plan plan = expect(plan_step(s.input, s.query));
  const timing::PlannedStep step = s.step(plan);
  for (auto _ : state) {
    auto found = timing::search_plan(step);
    if (!found) return state.SkipWithError(found.error().message.c_str());
    benchmark::DoNotOptimize(found);
  }
  state.counters["planner"] = microseconds_of_planner(s);
}

BENCHMARK_CAPTURE(search, ragged, false)->Arg(1)->Arg(16)->Arg(256)->Arg(4096);
BENCHMARK_CAPTURE(search, long_tail, true)->Arg(16)->Arg(256)->Arg(4096);

}  // namespace

BENCHMARK_MAIN();
