// Claims about prefill steps over an AITER tree: whose plan and whose results they are, and what a
// tree that refuses, breaks or plans nonsense leads to; a script stands for it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "hip_backend/aiter_tree/tree_backend.hpp"
#include "hip_backend/aiter_tree/tree_planner.hpp"
#include "properties/judge/judge.hpp"
#include "properties/step/prefill/run.hpp"
#include "properties/step/subject.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter_tree/fake_tree.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::hip::aiter_tree;

namespace {

constexpr const char* kCase =
    "mla1:1q9s9_1q5s5;heads=2;cu=32;arch=gfx950;dtype=bf16/fp8;kind=prefill";

// A backend over a tree that answers in one way.
struct Over {
  explicit Over(const std::string& how, Arch arch = Arch::gfx950, const gfx::RunOptions& run = {})
      : tree(how), backend(make_tree_backend(*tree.start(arch), run)) {}
  [[nodiscard]] prop::Subject subject(const std::string& line = kCase) const {
    return prop::Subject(case_of(line), *backend, nullptr);
  }
  [[nodiscard]] prop::Outcome judged(const char* id, const std::string& line = kCase) const {
    prop::Subject of = subject(line);
    return prop::find_property(id)->check(of);
  }
  Tree tree;
  std::unique_ptr<Backend> backend;
};

}  // namespace

TEST_CASE("aiter tree: a prefill step has the plan of the tree's own planner, in its sizes",
          "[aiter_tree]") {
  const Over over("right");
  prop::Subject subject = over.subject();
  REQUIRE(subject.prefill());
  const prop::PrefillStep& step = *subject.prefill()->steps.front();
  // The core deals the works out to many slots; the script's are all in the first.
  CHECK(step.plan.work_indptr[1] == 32);
  CHECK(step.plan.work_info.size() == 8 * 2 * 16);
  CHECK(step.plan.work(17) == plan::WorkItem{1, -1, 9, 14, 9, 14, 0, 2 << 16 | 1});
  const nlohmann::json asked = over.tree.asked();
  CHECK(asked[0]["call"] == "prefill");
  CHECK(asked[1]["work_info_set"] == nlohmann::json(step.plan.work_info));
  CHECK(asked[1]["qo_indptr"] == nlohmann::json({0, 9, 14}));
  CHECK(asked[1]["kv_indices"].size() == 14);
  CHECK(asked[1]["q"] == 14 * 16 * 192);
  CHECK(asked[1]["v"] == 14 * 16 * 128);
  CHECK(asked[1]["k"] == 14 * 16 * 192);
  CHECK(asked[1]["kv_indptr"] == nlohmann::json({0, 9, 14}));
  CHECK(asked[1]["work_indptr"] == nlohmann::json(step.plan.work_indptr));
  CHECK(asked[1]["reduce_final_map"] == nlohmann::json(step.plan.reduce_final_map));
  CHECK(asked[0]["compute_units"] == 32);
  CHECK(asked[0]["causal"] == true);
  CHECK(asked[0]["rows"] == 14);
  CHECK(asked[0]["heads"] == 16);
  CHECK(asked[0]["dtype"] == "fp8");
  CHECK(asked[0]["softmax_scale"] == step.tensors.softmax_scale);
  CHECK(asked[0]["v_scale"] == 1.0F);
}

TEST_CASE("aiter tree: its planner of prefill steps is asked what an engine asks", "[aiter_tree]") {
  const Over over("right");
  const std::vector<std::int32_t> rows{0, 300, 340};
  const std::vector<std::int32_t> keys{0, 400, 450};
  const std::vector<std::int32_t> lengths{400, 50};
  const auto sizes = over.backend->planner()->prefill_sizes({.compute_units = ComputeUnits(8),
                                                             .batch = Requests(2),
                                                             .kv_heads = Heads(16),
                                                             .max_qo_len = 300,
                                                             .qlen_granularity = 128});
  REQUIRE(sizes);
  CHECK(over.tree.asked()[0] == nlohmann::json({{"call", "prefill_sizes"},
                                                {"compute_units", 8},
                                                {"batch", 2},
                                                {"kv_heads", 16},
                                                {"max_qo_len", 300},
                                                {"qlen_granularity", 128}}));
  const auto plan = over.backend->planner()->plan_prefill({.compute_units = ComputeUnits(8),
                                                           .kv_heads = Heads(16),
                                                           .qo_indptr = rows,
                                                           .kv_indptr = keys,
                                                           .context_lens = lengths,
                                                           .qhead_granularity = 2,
                                                           .qlen_granularity = 256,
                                                           .kvlen_granularity = 64,
                                                           .block_size = 4,
                                                           .causal = false},
                                                          *sizes);
  REQUIRE(plan);
  CHECK(plan->work(0).kv_end == 400);
  nlohmann::json asked = over.tree.asked();
  CHECK(asked[1] ==
        nlohmann::json({{"qo_indptr", rows}, {"kv_indptr", keys}, {"context_lens", lengths}}));
  asked[0].erase("run");
  CHECK(asked[0] == nlohmann::json({{"call", "prefill_plan"},
                                    {"compute_units", 8},
                                    {"kv_heads", 16},
                                    {"qhead_granularity", 2},
                                    {"qlen_granularity", 256},
                                    {"kvlen_granularity", 64},
                                    {"block_size", 4},
                                    {"causal", false},
                                    {"words", {9, 8 * 4 * 16, 5, 8, 8}}}));
}

TEST_CASE("aiter tree: output and LSE of a prefill step are the tree's, of the model's heads",
          "[aiter_tree]") {
  const Over over("right");
  prop::Subject subject = over.subject();
  REQUIRE(subject.prefill());
  const prop::PrefillStep& step = *subject.prefill()->steps.front();
  const auto& result = step.result;
  REQUIRE(result.out.size() == 14 * 2 * 128);
  CHECK(std::ranges::count(result.out, 0x3F80) == std::ssize(result.out));
  CHECK(result.lse[1] == static_cast<float>(step.shape.heads.position(1)));
  CHECK(result.faults.empty());
  CHECK(result.launches.of("aiter", "emulated:gfx950", StepKind::prefill) == 2);
  // The script's numbers are no attention.
  CHECK(over.judged("P05").message.find("of request 0 row 0") != std::string::npos);
}

TEST_CASE("aiter tree: what AITER refuses of a prefill step is a refusal, of plan and of launch",
          "[aiter_tree]") {
  for (const char* how : {"refuses", "takes-no-step"}) {
    INFO(how);
    const Over over(how);
    prop::Subject subject = over.subject();
    REQUIRE_FALSE(subject.prefill());
    CHECK(subject.prefill().error().message == "AITER: AssertionError: nhead=17 (mla.py:9)");
    CHECK(over.judged("P05").verdict == prop::Verdict::skip);
    const std::vector<const prop::Property*> properties = {prop::find_property("P05")};
    const auto judged = prop::judge(case_of(kCase), properties, *over.backend, nullptr);
    CHECK(judged.refused);
  }
}

TEST_CASE("aiter tree: what breaks in a prefill step fails, in its planner and in its kernels",
          "[aiter_tree]") {
  for (const char* how : {"faults", "faults-at-launch"}) {
    INFO(how);
    const prop::Outcome outcome = Over(how).judged("P05");
    CHECK(outcome.verdict == prop::Verdict::fail);
    CHECK(outcome.message.find("module_mla_asm: out-of-bounds") != std::string::npos);
  }
  const prop::Outcome died = Over("heap").judged("P05");
  CHECK(died.verdict == prop::Verdict::fail);
  CHECK(died.message.find("(signal 6: Aborted)") != std::string::npos);
}

TEST_CASE(
    "aiter tree: prefill plans that are none fail with what is wrong, and nothing is launched",
    "[aiter_tree]") {
  const struct {
    const char* how;
    const char* sentence;
    std::vector<const char*> ids = {"P05", "P14", "P22", "P23", "P43"};
  } trees[] = {
      {"too-many-works", "work_indptr of the plan ends with 288, and 32 works have room"},
      {"fewer-works-than-none", "work_indptr of the plan ends with -1, and 32 works have room"},
      {"too-many-tiles", "reduce_indptr of the plan ends with 33, and 32 partial tiles have room"},
      {"other-request", "1000", {"P05", "P14"}},
  };
  for (const auto& [how, sentence, ids] : trees) {
    INFO(how);
    const Over over(how);
    for (const char* id : ids) {
      const prop::Outcome outcome = over.judged(id);
      INFO(id << ": " << outcome.message);
      CHECK(outcome.verdict == prop::Verdict::fail);
      if (std::string(id) == "P05") CHECK(outcome.message.find(sentence) != std::string::npos);
    }
    CHECK(over.tree.asked()[0]["call"] != "prefill");
  }
  CHECK(Over("misses-a-key").judged("P05").message.find("the plan of the new tokens: ") !=
        std::string::npos);
}

TEST_CASE("aiter tree: a size query that answers with no size is refused with the number",
          "[aiter_tree]") {
  const Over over("odd-size");
  CHECK(over.backend->planner()->prefill_sizes({}).error().message ==
        "list 3 of the size query of this AITER has -1 words; expected 0 to 268435456");
}

TEST_CASE("aiter tree: prefill runs on gfx950 alone, and steps on path flash are refused there",
          "[aiter_tree]") {
  const Over older("right", Arch::gfx942);
  CHECK(older.backend->device(StepKind::prefill).empty());
  CHECK(older.backend->prefill_kernels() == nullptr);
  const Over over("right");
  CHECK(over.backend->device(StepKind::prefill) == "emulated:gfx950");
  CHECK(over.backend->device(StepKind::fa).empty());
  prop::Subject flash = over.subject("mla1:1q9s9;heads=2;arch=gfx950;dtype=bf16/bf16;kind=prefill");
  CHECK(flash.prefill().error().message ==
        "the backend has no flash attention, only works of a plan: the cache is bf16: a prefill in "
        "fp8 needs an fp8 cache");
}

TEST_CASE("aiter tree: every context chunk is planned by the tree, without the mask",
          "[aiter_tree]") {
  const Over over("right");
  prop::Subject subject = over.subject(
      "mla1:1q9s100_1q5s5;heads=2;cu=32;block=16;arch=gfx950;dtype=bf16/fp8;kind=prefill;"
      "planner=v12;workspace=64");
  REQUIRE(subject.prefill());
  const prop::PrefillStep& step = *subject.prefill()->steps.front();
  REQUIRE(step.context_plans.size() == 2);
  CHECK(step.context_plans[0].work_indptr[1] == 16);
  CHECK(step.context_plans[0].work(0) == plan::WorkItem{0, -1, 0, 9, 0, 64, 0, 1 << 16});
  CHECK(step.result.launches.of("aiter", "emulated:gfx950", StepKind::prefill) == 6);
  const nlohmann::json asked = over.tree.asked();  // of the last chunk: 91 cached keys, 64 at once
  CHECK(asked[0]["causal"] == false);
  CHECK(asked[1]["qo_indptr"] == nlohmann::json({0, 9}));
  CHECK(asked[1]["kv_indptr"] == nlohmann::json({0, 27}));
  CHECK(asked[1]["k"] == 27 * 16 * 192);
}

TEST_CASE("aiter tree: of several launches of a prefill step the first that breaks is told",
          "[aiter_tree]") {
  const Over over("breaks-twice");
  prop::Subject subject = over.subject(
      "mla1:1q9s100;heads=2;cu=32;block=16;arch=gfx950;dtype=bf16/fp8;kind=prefill;planner=v12");
  REQUIRE_FALSE(subject.prefill());
  const bool chunk_first = over.tree.asked()[0]["causal"] == true;
  CHECK(subject.prefill().error().message ==
        (chunk_first ? "the second" : "AITER: AssertionError: the first"));
}

TEST_CASE("aiter tree: prefill steps run as they were asked to, or under the drawn timing",
          "[aiter_tree]") {
  const Over over("right", Arch::gfx950, {.schedule = {.slice = 16}});
  prop::Subject subject = over.subject();
  REQUIRE(subject.prefill());
  CHECK(over.tree.asked()[0]["run"]["schedule"] == "slice=16");
  CHECK(over.judged("P43").verdict == prop::Verdict::pass);
  CHECK(over.tree.asked()[0]["call"] == "prefill");
  CHECK(over.tree.asked()[0]["run"]["arrival"] == "late");  // the last of six timings
  const prop::Outcome changed = Over("decodes-by-timing").judged("P43");
  CHECK(changed.verdict == prop::Verdict::fail);
  CHECK(changed.message.find(" the result differs: ") != std::string::npos);
}

TEST_CASE("aiter tree: what needs a plan or its sizes alone passes over the tree's",
          "[aiter_tree]") {
  const Over over("right");
  for (const char* id : {"P20", "P22", "P28"}) {
    const prop::Outcome outcome = over.judged(id);
    INFO(id << ": " << outcome.message);
    CHECK(outcome.verdict == prop::Verdict::pass);
  }
}
