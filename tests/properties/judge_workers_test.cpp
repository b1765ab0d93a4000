// Claims about cases that are judged at once: what each of them may use.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "cpu_backend/threads.hpp"
#include "properties/judge/memory_budget.hpp"
#include "properties/judge/parallel.hpp"
#include "properties/judge/runner.hpp"
#include "properties/step/estimate.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

// What the cases that are judged right now need together, and the most of it.
std::atomic<double> needed = 0;
std::atomic<double> most = 0;

constexpr Property kNeeds{"T01", "needs", "Everything is well.", [](Subject& s) {
                            const double need = estimate_of(s.spec()).bytes();
                            const double now = needed += need;
                            for (double seen = most; now > seen;)
                              if (most.compare_exchange_weak(seen, now)) break;
                            std::this_thread::sleep_for(std::chrono::milliseconds(5));
                            needed -= need;
                            return passed();
                          }};

}  // namespace

TEST_CASE("workers: several have one thread each, one has all", "[judge]") {
  const int all = cpu::team(0);
  std::atomic<int> largest = 0;
  on_workers(3, [&] { largest = std::max(largest.load(), cpu::team(0)); });
  CHECK(largest == 1);
  on_workers(1, [&] { largest = cpu::team(0); });
  CHECK(largest == all);
}

#ifdef _OPENMP
TEST_CASE("workers: a number of threads that is asked for stays, as P31 does", "[judge]") {
  std::atomic<int> fewest = 2;
  on_workers(2, [&] {
    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += 1;
    if (threads < 2) fewest = threads;
  });
  CHECK(fewest == 2);
}
#endif

TEST_CASE("workers: every case that the memory holds is judged, and never more at once",
          "[judge]") {
  RunOptions options;
  options.properties = {&kNeeds};
  options.backend = &cpu_backend();
  for (const int keys : {9, 4000, 9, 4001, 4002, 9, 9, 4003, 3999, 9})
    options.cases.push_back(case_of("mla1:4q1s" + std::to_string(keys)));
  options.memory = 1.5 * estimate_of(options.cases[1]).bytes();
  REQUIRE(options.memory / 8 < estimate_of(options.cases[1]).bytes());
  for (const int workers : {1, 8}) {
    options.workers = workers;
    most = 0;
    const RunReport report = run_properties(options);
    CHECK(report.too_large == 0);
    CHECK(report.tallies[0].ran == std::ssize(options.cases));
    CHECK(most <= options.memory);
  }
}

TEST_CASE("workers: one case has the whole memory, whatever was held before", "[judge]") {
  MemoryBudget budget(1);
  std::array<std::optional<MemoryBudget::Share>, 4> held;  // their sum is rounded at every step
  std::mt19937 random(6);
  for (int i = 0; i < 100'000; ++i) {
    std::optional<MemoryBudget::Share>& share = held[random() % held.size()];
    share.reset();
    share.emplace(budget, (random() % 1000) / 4001.0);
  }
  for (auto& share : held) share.reset();
  const MemoryBudget::Share whole(budget, 1);
  CHECK_FALSE(budget.allows(1.5));
}

TEST_CASE("workers: a case that still waits for memory when the run is interrupted is not begun",
          "[judge]") {
  static std::atomic<int> begun = 0;
  static std::atomic<bool> stopped = false;
  static constexpr Property kStops{"T02", "stops", "Everything is well.", [](Subject&) {
                                     ++begun;
                                     std::this_thread::sleep_for(std::chrono::milliseconds(50));
                                     stopped = true;
                                     return passed();
                                   }};
  RunOptions options;
  options.properties = {&kStops};
  options.backend = &cpu_backend();
  options.cases.assign(4, case_of("mla1:4q1s4000"));
  options.memory = 1.5 * estimate_of(options.cases[0]).bytes();
  options.workers = 4;
  options.stopped = [] { return stopped.load(); };
  const RunReport report = run_properties(options);
  CHECK(begun == 1);
  CHECK(report.interrupted);
  CHECK(report.exit_code() == ExitCode::inconclusive);
}

TEST_CASE("workers: a refusal that only a property met which had failed before counts for none",
          "[judge]") {
  // With two workers the second case is judged before the property has failed on the first.
  static std::atomic<int> ahead = 0;
  static constexpr Property kFailsFirst{"T03", "fails_first", "Decodes.", [](Subject& s) {
                                          if (s.spec().requests.size() == 1) {
                                            ahead.wait(0);
                                            return failed("one request");
                                          }
                                          const bool refused = !s.result().ok();
                                          ahead = 2;
                                          ahead.notify_all();
                                          return refused ? skipped("refused") : passed();
                                        }};
  static constexpr Property kHolds{"T04", "holds", "Everything is well.",
                                   [](Subject&) { return passed(); }};
  RunOptions options;
  options.properties = {&kFailsFirst, &kHolds};
  options.backend = &cpu_backend();
  options.cases = {case_of("mla1:1q1s4;kind=fa"), case_of("mla1:2q1s4;kind=fa")};
  for (const int workers : {1, 2}) {
    options.workers = workers;
    ahead = workers == 1 ? 1 : 0;
    CHECK(run_properties(options).refused == 0);
    CHECK(ahead == workers);
  }
}
