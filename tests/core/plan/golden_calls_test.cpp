// Claims about the planners against AITER's answers to recorded calls, asked otherwise than they
// were recorded.
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/io/checksum.hpp"
#include "core/plan/planner.hpp"
#include "core/say.hpp"
#include "properties/dump/blame/differences.hpp"
#include "properties/dump/dump.hpp"
#include "properties/dump/read/parts.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/golden.hpp"

namespace {

using namespace mla;
using nlohmann::json;
using plan::PlannerVersion;
using plan::V12Kernel;

// A planner call of fixtures/golden/random.json, to be planned as AITER does.
struct SummedCall {
  json recorded;
  dump::PlannerCall call;
};

std::vector<SummedCall> random_calls() {
  std::vector<SummedCall> out;
  const json document = golden::load("random");
  for (const json& recorded : document["cases"]) {
    auto call = dump::read_planner_call(recorded);
    REQUIRE(call.ok());
    call->input.fidelity = plan::Fidelity::as_aiter;
    if (recorded.contains("serial")) call->input.kernel = V12Kernel::serial;
    out.push_back({recorded, std::move(*call)});
  }
  CHECK(out.size() == 577);
  return out;
}

// How the answer to `input`, which is the call or one like it, is not AITER's.
std::optional<std::string> difference(const SummedCall& aiter, const plan::PlanInput& input) {
  const auto sizes = plan::query_sizes(aiter.call.sizes());
  if (!sizes) return "its buffers are refused: " + sizes.error().message;
  const auto made = plan::make_plan(input, *sizes);
  if (!made) return "it is refused: " + made.error().message;
  const auto lists = made->all();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto used = lists[i]->data().first(static_cast<std::size_t>(lists[i]->used()));
    if (io::hex64(io::fnv1a64(std::as_bytes(used))) != aiter.recorded["sums"][i].get<std::string>())
      return say(lists[i]->name(), " is not AITER's");
  }
  return std::nullopt;
}

// A sparse call with uni_seqlen_qo 1, which AITER plans row by row and gets right: every request
// has as many rows, said to be one each.
bool right_sparse_call(const plan::PlanInput& in) {
  return in.topk >= 0 && in.uniform_qo_len == 1 && in.kv_indptr.front() == 0 && in.batch() > 0;
}

}  // namespace

TEST_CASE("planners: uni_seqlen_qo 0 is as good as -1 in recorded calls", "[plan]") {
  std::size_t compared = 0;
  for (const SummedCall& aiter : random_calls()) {
    if (aiter.call.input.uniform_qo_len >= 0) continue;
    plan::PlanInput zero = aiter.call.input;
    zero.uniform_qo_len = 0;
    INFO(aiter.recorded.dump());
    CHECK(difference(aiter, zero) == std::nullopt);
    ++compared;
  }
  CHECK(compared == 57);
}

TEST_CASE("planners: safe plans of recorded sparse calls are AITER's where AITER is right",
          "[plan]") {
  std::size_t compared = 0;
  for (const SummedCall& aiter : random_calls()) {
    plan::PlanInput safe = aiter.call.input;
    safe.fidelity = plan::Fidelity::safe;
    if (!right_sparse_call(safe)) continue;
    // v1.1 keeps no cap of splits, and a safe planner says so.
    if (safe.version != PlannerVersion::v1_2) safe.max_split_per_batch = -1;
    INFO(aiter.recorded.dump());
    CHECK(difference(aiter, safe) == std::nullopt);
    ++compared;
  }
  CHECK(compared > 20);
}

// Each has several rows a request, or folds its heads.
TEST_CASE("planner v1.2: recorded sparse calls with other rows than they have are refused",
          "[plan]") {
  std::size_t asked = 0;
  for (const SummedCall& aiter : random_calls()) {
    plan::PlanInput safe = aiter.call.input;
    safe.fidelity = plan::Fidelity::safe;
    if (!right_sparse_call(safe) || safe.version != PlannerVersion::v1_2) continue;
    INFO(aiter.recorded.dump());
    const auto sizes = plan::query_sizes(aiter.call.sizes());
    REQUIRE(sizes.ok());
    plan::PlanInput other = safe;
    for (const std::int64_t rows : {-1, 2}) {
      other.uniform_qo_len = rows;
      CHECK_FALSE(plan::make_plan(other, *sizes).ok());
    }
    std::vector<std::int32_t> longer(safe.qo_indptr.begin(), safe.qo_indptr.end());
    ++longer.back();
    plan::PlanInput unequal = safe;
    unequal.qo_indptr = longer;
    if (safe.batch() > 1) CHECK_FALSE(plan::make_plan(unequal, *sizes).ok());
    ++asked;
  }
  CHECK(asked > 10);
}

TEST_CASE(
    "planner v1.2: automatic is the parallel kernel where both differ, and one that is named is "
    "not "
    "exchanged",
    "[plan][BUG-074]") {
  std::size_t differing = 0;
  const json document = golden::load("v12_h16_q1");
  for (const json& recorded : document["cases"]) {
    if (!recorded.contains("expected_serial")) continue;
    ++differing;
    auto call = dump::read_planner_call(recorded);
    REQUIRE(call.ok());
    for (const auto& [kernel, answer] : {std::pair{V12Kernel::automatic, "expected"},
                                         {V12Kernel::parallel, "expected"},
                                         {V12Kernel::serial, "expected_serial"}}) {
      json found = recorded;
      found["expected"] = recorded[answer];
      const auto expected = dump::read_plan(found);
      REQUIRE(expected.ok());
      plan::PlanInput input = call->input;
      input.fidelity = plan::Fidelity::as_aiter;
      input.kernel = kernel;
      const auto made = plan::make_plan(input, expected->sizes());
      INFO(recorded["name"] << ", " << answer);
      REQUIRE(made.ok());
      CHECK(dump::differences(*made, *expected).empty());
    }
  }
  CHECK(differing == 8);
}
