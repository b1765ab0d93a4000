// The plans that the search finds, executed: every property that is not about a planner holds.
#include "properties/app/searched_plan.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "cpu_backend/cpu_backend.hpp"
#include "properties/app/capture_case.hpp"
#include "properties/app/step_time.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/judge/judge.hpp"
#include "tests/catch.hpp"

namespace {

using namespace mla;
using prop::Verdict;

const char* const kSearched[] = {
    "mla1:1q1s2k;heads=16;arch=gfx950;dtype=fp8/fp8",
    "mla1:5q1s300_2q1s900_1q1s3k;heads=16;arch=gfx950;dtype=fp8/fp8",
    "mla1:3q4s321_2q4s1001;heads=16;arch=gfx950;dtype=fp8/fp8",
    "mla1:3q2s290_1q2s2k;heads=64;arch=gfx950;dtype=fp8/fp8",
    "mla1:2q1s515_1q1s2k;heads=32;block=64;arch=gfx950;dtype=bf16/bf16;planner=v12",
    "mla1:3q3s700;heads=128;arch=gfx950;dtype=fp8/fp8",
};

// Whether the hooks changed a plan.
class Counting final : public prop::Interposer {
 public:
  void on_plan(const DecodeMetadata& metadata, plan::Plan& plan) const override {
    const plan::Plan before = plan.clone();
    searched_.on_plan(metadata, plan);
    changed_ += plan == before ? 0 : 1;
  }
  [[nodiscard]] int changed() const { return changed_; }

 private:
  app::SearchedPlan searched_;
  mutable int changed_ = 0;
};

}  // namespace

TEST_CASE("With searched plans every property holds that does not speak of a planner's balance") {
  // What planner v1.2 promises a slot and a cap, and that a rebuild plans alike with more slots.
  const std::set<std::string_view> of_planners{"P35", "P36"};
  std::vector<const prop::Property*> properties;
  for (const prop::Property& p : prop::all_properties())
    if (!of_planners.contains(p.id)) properties.push_back(&p);
  const auto backend = cpu::make_cpu_backend();
  for (const char* line : kSearched) {
    INFO(line);
    const auto c = parse_case(line);
    REQUIRE(c.ok());
    const Counting hooks;
    const prop::Judgement judged = prop::judge(*c, properties, *backend, &hooks);
    CHECK_FALSE(judged.refused);
    CHECK(hooks.changed() > 0);
    int passed = 0;
    for (std::size_t p = 0; p < properties.size(); ++p) {
      INFO(properties[p]->id << ": " << judged.outcomes[p].message);
      CHECK(judged.outcomes[p].verdict != Verdict::fail);
      passed += judged.outcomes[p].verdict == Verdict::pass ? 1 : 0;
    }
    CHECK(passed > 15);
  }
}

TEST_CASE("A searched bundle is valid, holds the searched plan and its prediction") {
  const auto c = parse_case(kSearched[1]);
  const auto bundle = app::searched_bundle(*c, nullptr);
  REQUIRE(bundle.ok());
  const double predicted = (*bundle->scalars)["predicted"]["total_us"].get<double>();
  const auto dumped = dump::read_dump(*bundle);
  REQUIRE(dumped.ok());
  const auto answer = dump::check(*dumped);
  REQUIRE(answer.ok());
  CHECK(answer->findings.empty());
  const auto time = app::time_step(*c, {.others = false, .faster = true});
  REQUIRE(time.ok());
  REQUIRE(time->faster.has_value());
  CHECK(predicted == time->faster->predicted.total_us());
  CHECK(predicted < time->step.predicted->total_us());
  const auto again = app::time_step(*dumped, {.others = false, .faster = false});
  REQUIRE(again.ok());
  CHECK(again->step.predicted->total_us() == predicted);
}

TEST_CASE("A bundle with another plan keeps its lists and loses the old plan's launch and result") {
  const auto c = parse_case(kSearched[0]);
  const auto backend = cpu::make_cpu_backend();
  auto bundle = app::capture_case(*c, *backend, prop::Interposer::none());
  REQUIRE(bundle.ok());
  bundle->arrays["launch_work_indptr"] = bundle->arrays.at("work_indptr");
  auto dumped = dump::read_dump(*bundle);
  REQUIRE(dumped.ok());
  const auto time = app::time_step(*dumped, {.others = false, .faster = true});
  REQUIRE(time.ok());
  REQUIRE(time->faster.has_value());
  const dump::Bundle better = app::with_plan(*bundle, *time->faster);
  for (const char* gone : {"launch_work_indptr", "out", "lse"})
    CHECK(!better.arrays.contains(gone));
  for (const char* kept : {"q", "kv_cache", "kv_indices", "seqlens_kv_indptr"})
    CHECK(better.arrays.at(kept).bytes == bundle->arrays.at(kept).bytes);
  const auto changed = dump::read_dump(better);
  REQUIRE(changed.ok());
  const auto answer = dump::check(*changed);
  REQUIRE(answer.ok());
  CHECK(answer->findings.empty());
  const auto after = app::time_step(*changed, {});
  REQUIRE(after.ok());
  CHECK(after->step.predicted->total_us() == time->faster->predicted.total_us());
}
