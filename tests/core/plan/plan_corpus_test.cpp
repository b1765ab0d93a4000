// plan_check against what AITER's persistent kernels made of a plan: fixtures/plans/aiter.json
// holds plans, and for each whether the kernel that ran it was right
// (tests/hip_backend/aiter/calibration writes it; docs/reference/plan-check.md). No binary is
// needed to replay it.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/plan/plan_check.hpp"
#include "tests/catch.hpp"

using namespace mla;
using nlohmann::json;
using Words = std::vector<std::int32_t>;

namespace {

json corpus() {
  std::ifstream file(MLA_FIXTURES "/plans/aiter.json");
  REQUIRE(file.good());
  return json::parse(file);
}

// The lists of an entry, where spans can point at them.
struct Lists : plan::PlanLists<Words> {
  explicit Lists(const json& e)
      : PlanLists{e["work_indptr"], e["work_info"], e["reduce_indptr"], e["reduce_final_map"],
                  e["reduce_partial_map"]},
        qo(e["qo_indptr"]),
        kv(e["kv_indptr"]),
        last(e["last_page_len"]) {}
  Words qo, kv, last;
};

PlanShape shape_of(const json& e) {
  const std::string dtype = e["dtype"];
  const std::size_t slash = dtype.find('/');
  const auto shape =
      resolve_plan_shape({.arch = *arch_from_name(e["arch"].get<std::string>()),
                          .compute_units = ComputeUnits(e["units"].get<std::int64_t>()),
                          .heads_per_kv_head = Heads(e["heads"].get<std::int64_t>()),
                          .dtype = {*dtype_from_name(dtype.substr(0, slash)),
                                    *dtype_from_name(dtype.substr(slash + 1))},
                          .max_qo_len = e["max_qo_len"].get<std::int64_t>()});
  REQUIRE(shape.ok());
  return *shape;
}

std::vector<plan::Violation> check(const json& e) {
  const Lists lists(e);
  return plan::plan_check({.plan = plan::PlanView(lists),
                           .qo_indptr = lists.qo,
                           .kv_indptr = lists.kv,
                           .last_page_len = lists.last,
                           .shape = shape_of(e),
                           .causal = e["causal"] == 1,
                           .kernel_masks = e["masks"] == 1,
                           .page_size = e["page_size"].get<std::int64_t>(),
                           .max_qo_len = e["max_qo_len"].get<std::int64_t>()});
}

std::string rules_of(const std::vector<plan::Violation>& found) {
  std::set<std::string> rules;
  for (const plan::Violation& v : found) rules.emplace(name(v.rule));
  std::string text;
  for (const std::string& rule : rules) text += (text.empty() ? "" : ",") + rule;
  return text;
}

}  // namespace

TEST_CASE("plan_check: no plan that one of AITER's kernels got wrong is valid", "[plan][P05]") {
  std::size_t wrong = 0;
  for (const json& e : corpus()) {
    if (e["right"]) continue;
    ++wrong;
    INFO(e["kernel"] << ", " << e["change"]);
    CHECK_FALSE(check(e).empty());
  }
  CHECK(wrong > 100);
}

// What is refused although the kernel was right is in the corpus with its rules, so that a rule
// that gets stricter shows here.
TEST_CASE("plan_check: each plan of the corpus breaks the rules that are listed", "[plan][P05]") {
  std::size_t valid = 0;
  for (const json& e : corpus()) {
    const auto found = check(e);
    INFO(e["kernel"] << ", " << e["change"] << ": "
                     << (found.empty() ? std::string() : found[0].what));
    CHECK(rules_of(found) == e["rules"].get<std::string>());
    valid += found.empty() ? 1 : 0;
  }
  CHECK(valid > 100);
}
