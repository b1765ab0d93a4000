// The claims about FA steps: they hold on drawn cases, and each planted defect makes its own fail.
#include <algorithm>
#include <array>
#include <map>

#include "core/case/steps.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/generate/cases.hpp"
#include "properties/generate/cost.hpp"
#include "properties/plants/groups.hpp"
#include "properties/step/fa/run.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"
#include "tests/fa_steps.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

// The ids that have a check of their own for FA steps.
constexpr std::array kIds{"P03", "P04", "P12", "P18", "P21", "P25", "P26", "P28", "P29"};

const Backend& backend() {
  static const auto cpu = cpu::make_cpu_backend();
  return *cpu;
}

Outcome check(const char* id, const Case& c, const Interposer* interposer) {
  Subject subject(c, backend(), interposer);
  return find_property(id)->check(subject);
}

// The first `count` FA cases among the random ones.
template <class F>
void for_each_drawn(int count, F visit) {
  for (std::uint64_t seed = 0; count > 0; ++seed) {
    const Case c = random_case(seed, static_cast<int>(seed % 101));
    if (c.kind() != StepKind::fa) continue;
    visit(c);
    --count;
  }
}

}  // namespace

TEST_CASE("fa claims: all hold on drawn cases, and each says something often", "[fa][claims]") {
  std::map<std::string, int> passed;
  int refused = 0;
  for_each_drawn(150, [&](const Case& c) {
    Subject subject(c, backend(), nullptr);
    if (!subject.fa()) ++refused;
    for (const char* id : kIds) {
      const Outcome outcome = find_property(id)->check(subject);
      INFO(id << " " << format_case(c) << ": " << outcome.message);
      CHECK(outcome.verdict != Verdict::fail);
      if (outcome.verdict == Verdict::pass) ++passed[id];
    }
  });
  CHECK(refused > 0);
  CHECK(refused < 50);
  for (const char* id : kIds) {
    INFO(id);
    CHECK(passed[id] >= 30);
  }
}

TEST_CASE("fa claims: each planted defect is caught by its own claim", "[fa][claims][plants]") {
  for (const Plant& plant : fa_plants()) {
    INFO(plant.id << " " << plant.case_line);
    const auto c = parse_case(plant.case_line);
    REQUIRE(c.ok());
    const std::string id(plant.property);
    const Outcome healthy = check(id.c_str(), *c, nullptr);
    INFO(healthy.message);
    CHECK(healthy.verdict == Verdict::pass);
    const Outcome broken = check(id.c_str(), *c, plant.make().get());
    INFO(broken.message);
    CHECK(broken.verdict == Verdict::fail);
  }
}

TEST_CASE("fa claims: every claim has a defect of FA steps that it catches", "[fa][claims]") {
  for (const char* id : kIds) {
    INFO(id);
    CHECK(std::any_of(fa_plants().begin(), fa_plants().end(),
                      [id](const Plant& p) { return p.property == id; }));
  }
}

TEST_CASE("fa cases: what is drawn reaches every run, route and refusal", "[fa][judge]") {
  std::map<std::string, int> seen;
  for_each_drawn(400, [&](const Case& c) {
    CHECK(parse_case(format_case(c)).ok());
    CHECK(cost_of(c) <= budget_of(100));
    const auto steps = test::fa_steps(single_steps(c), 1);
    if (!steps) {
      ++seen["refused"];
      return;
    }
    for (const FaStepRun& step : *steps) {
      const ThreeWaySplit& s = step.parts.split;
      if (s.decodes > Requests(0)) ++seen[step.route];
      if (s.extends + s.prefills == Requests(0)) ++seen["decodes only"];
      if (s.extends > Requests(0)) ++seen["extends"];
      if (s.prefills > Requests(0)) ++seen["prefills"];
      if (step.parts.extend && step.parts.extend->chunks.num_chunks > 1) ++seen["chunks"];
      if (step.parts.extend && step.parts.extend->window) ++seen["windows"];
      if (step.parts.decode_max_query_len > 1) ++seen["drafts"];
      if (step.ordered.batch.requests.size() > step.spec.requests.size()) ++seen["padding"];
      if (!step.spec.causal) ++seen["no mask"];
    }
  });
  for (const char* what :
       {"refused", "paged_attention_v1", "unified_attention", "decodes only", "extends", "prefills",
        "chunks", "windows", "drafts", "padding", "no mask"}) {
    INFO(what);
    CHECK(seen[what] >= 10);
  }
}
