// Claims about the process of an AITER tree, its planner and its backend; a script stands for it.
#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/shape/dispatch.hpp"
#include "hip_backend/aiter_tree/tree_backend.hpp"
#include "hip_backend/aiter_tree/tree_planner.hpp"
#include "hip_backend/aiter_tree/tree_support.hpp"
#include "properties/claims/support/damaged_launch.hpp"
#include "properties/judge/judge.hpp"
#include "properties/step/subject.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter_tree/fake_tree.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::hip::aiter_tree;

namespace {

Error error_of(const std::string& how) {
  const Tree tree(how);
  const auto process = tree.start();
  if (!process) return process.error();
  const auto sizes = make_tree_planner(*process, {})->sizes({});
  return sizes ? Error{ErrorCode::usage, "it answered"} : sizes.error();
}

// A tree that answers rightly, and its backend.
struct Right {
  Tree tree{"right"};
  std::unique_ptr<Backend> backend = make_tree_backend(*tree.start(), {});
};

prop::Subject subject_of(const Backend& backend, const std::string& line) {
  return prop::Subject(case_of(line), backend, nullptr);
}

}  // namespace

TEST_CASE("aiter tree: a process that says why it has no AITER is an error with that sentence",
          "[aiter_tree]") {
  const Error error = error_of("broken");
  CHECK(error.code == ErrorCode::fault);
  CHECK(
      error.message.ends_with("/broken' cannot be imported: SyntaxError: invalid syntax "
                              "(mla.py:7)"));
}

TEST_CASE("aiter tree: a Python without the package is named, and so is one that is not there",
          "[aiter_tree]") {
  CHECK(error_of("no-torch").message.find("MLA_TESTBED_PYTHON names another Python") !=
        std::string::npos);
  const auto none = TreeProcess::start({.directory = "/", .python = "/no/python"}, Arch::gfx942);
  CHECK(none.error().message.starts_with("'/no/python' cannot be started: No such file"));
}

TEST_CASE("aiter tree: what AITER raises is unsupported, what its kernels or its build do a fault",
          "[aiter_tree]") {
  const Error refused = error_of("refuses");
  CHECK(refused.code == ErrorCode::unsupported);
  CHECK(refused.message == "AITER: AssertionError: nhead=17 (mla.py:9)");
  const Error fault = error_of("faults");
  CHECK(fault.code == ErrorCode::fault);
  CHECK(fault.message == "module_mla_asm: out-of-bounds");
}

TEST_CASE("aiter tree: a process that ends inside of an answer is an error, and starts once more",
          "[aiter_tree]") {
  const Tree tree("dies");
  const auto process = tree.start();
  REQUIRE(process);
  const auto planner = make_tree_planner(*process, {});
  CHECK(planner->sizes({}).error().message ==
        "the process of the AITER tree ended while it was answering (exit code 0)");
  CHECK(planner->sizes({}).error().message ==
        "the process of the AITER tree ended while it was answering (exit code 0)");
  CHECK(planner->sizes({}).error().code == ErrorCode::fault);
}

TEST_CASE("aiter tree: after AITER ended its process by a signal, the next question is answered",
          "[aiter_tree]") {
  const Tree tree("aborts-once");
  const auto process = tree.start();
  REQUIRE(process);
  const auto planner = make_tree_planner(*process, {});
  CHECK(planner->sizes({}).error().message ==
        "the process of the AITER tree ended while it was answering (signal 6: Aborted)");
  CHECK(planner->sizes({}));
}

TEST_CASE(
    "aiter tree: an abort by a check of AITER's is a refusal in the check's words, in each call",
    "[aiter_tree]") {
  const auto begun = std::chrono::steady_clock::now();
  const std::string said = "AITER: asm_mla.cu:9 no kernel for nhead=17 (it ends its process)";
  for (const char* how : {"checks", "checks-late", "copy-checks", "copy-flood"}) {
    const Tree tree(how);
    const auto process = tree.start();
    REQUIRE(process);
    const auto planner = make_tree_planner(*process, {});
    for (const auto& error :
         {planner->sizes({}).error(), launched_for(**process, {}).error(),
          dynamic_cast<const Dispatch&>(*planner).row_heads(DispatchQuestion{}).error()}) {
      INFO(how);
      CHECK(error.code == ErrorCode::unsupported);
      CHECK(error.message == said);
    }
  }
  // A process that holds standard error for 200 s is not waited for.
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(150));
}

TEST_CASE("aiter tree: an abort that no check of AITER's explains is a fault", "[aiter_tree]") {
  for (const char* how : {"heap", "no-module", "silent", "copy-heap", "copy-silent"}) {
    const Tree tree(how);
    const auto process = tree.start();
    REQUIRE(process);
    const Error error = launched_for(**process, {}).error();
    INFO(how);
    CHECK(error.code == ErrorCode::fault);
    CHECK(error.message.ends_with("while it was answering (signal 6: Aborted)"));
  }
}

TEST_CASE("aiter tree: what a check of AITER's said in an earlier question explains no abort",
          "[aiter_tree]") {
  const Tree tree("told-before");
  const auto process = tree.start();
  REQUIRE(process);
  const auto planner = make_tree_planner(*process, {});
  REQUIRE(planner->sizes({}));
  CHECK(planner->sizes({}).error().code == ErrorCode::fault);
}

TEST_CASE("aiter tree: an answer with too few lists, or of another type, is an error",
          "[aiter_tree]") {
  const Tree tree("lies");
  const auto process = tree.start();
  REQUIRE(process);
  CHECK(make_tree_planner(*process, {})->sizes({}).error().message ==
        "the size query of this AITER answers with 3 lists, not 6");
  const auto backend = make_tree_backend(*process, {});
  prop::Subject core = subject_of(cpu_backend(), "mla1:1q1s9;heads=16;cu=4");
  const auto result = backend->run({*core.metadata(), *core.tensors()}, {});
  CHECK(result.error().message ==
        "'out' of the AITER tree is of int32, whose elements do not have 2 bytes");
}

TEST_CASE("aiter tree: its planner's sizes and plan are those of the step, poison is unwritten",
          "[aiter_tree]") {
  const Tree tree("right");
  const auto process = tree.start();
  REQUIRE(process);
  CHECK((*process)->version() == "0.1.99");
  const auto backend = make_tree_backend(*process, {});
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9_1q1s5;heads=16;cu=4;planner=v12");
  REQUIRE(subject.metadata());
  const plan::Plan& plan = *subject.metadata()->plan;
  CHECK(plan.work_info.size() == 8 * 6);
  CHECK(plan.work_info.used() == 16);
  CHECK(plan.work(1) == plan::WorkItem{1, -1, 1, 2, 9, 14, 0, 0});
  CHECK_FALSE(plan.reduce_partial_map.written(0));
  const nlohmann::json head = tree.asked()[0];
  CHECK(head["call"] == "plan");
  CHECK(head["compute_units"] == 4);
  CHECK(head["fast_mode"] == true);
  CHECK(head["uniform_qo_len"] == 1);
}

TEST_CASE("aiter tree: a plan and sizes that are not the core's pass P15 and P33", "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  const std::vector<const prop::Property*> properties = {prop::find_property("P15"),
                                                         prop::find_property("P33")};
  const Case c = case_of("mla1:1q1s9_1q1s5;heads=16;cu=4");
  for (const prop::Outcome& outcome : prop::judge(c, properties, *backend, nullptr).outcomes) {
    INFO(outcome.message);
    CHECK(outcome.verdict == prop::Verdict::pass);
  }
}

TEST_CASE("aiter tree: a kernel of v1.2 that is asked for by name is refused", "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9;cu=4;planner=v12serial");
  CHECK(subject.metadata().error().message == "AITER chooses the kernel of planner v1.2 itself");
}

TEST_CASE(
    "aiter tree: heads that AITER refuses are padded, and taken back from where they were put",
    "[aiter_tree]") {
  const Tree tree("takes-sixteens");
  const auto process = tree.start();
  REQUIRE(process);
  const auto backend = make_tree_backend(*process, {});
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9;heads=4;cu=4");
  const auto result = backend->run({*subject.metadata(), *subject.tensors()}, {});
  REQUIRE(result);
  CHECK(tree.asked()[0]["heads"] == 16);
  CHECK(tree.asked()[1]["q"] == 16 * kKeyDim * 2);
  REQUIRE(result->lse.size() == 4);
  CHECK(result->lse[3] == 12);  // each head is there four times
  CHECK(result->out.size() == 4 * kValueDim);
  CHECK(result->launches.of("aiter", "emulated:gfx942", StepKind::decode) == 2);
}

TEST_CASE(
    "aiter tree: a head count that the core's table lacks is planned and run as AITER takes it",
    "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9;heads=12;dtype=fp8/fp8;cu=4");
  REQUIRE(subject.metadata());
  CHECK(tree.asked()[0]["call"] == "plan");
  CHECK(tree.asked()[0]["heads"] == 12);
  CHECK(subject.shape()->route_reason == "this AITER takes these requests");
  const auto result = backend->run({*subject.metadata(), *subject.tensors()}, {});
  REQUIRE(result);
  CHECK(tree.asked()[0]["heads"] == 12);
  CHECK(result->lse.size() == 12);
  CHECK(result->lse[11] == 11);
  for (const char* id : {"P07", "P15", "P28", "P33"}) {
    const prop::Outcome outcome = prop::find_property(id)->check(subject);
    INFO(id << ": " << outcome.message);
    CHECK(outcome.verdict == prop::Verdict::pass);
  }
  // P14 takes the heads, and compares with a reference that the script's numbers are not.
  CHECK(prop::find_property("P14")->check(subject).message.starts_with("LSE of request 0 row 0"));
}

TEST_CASE("aiter tree: without a plan, 80 heads are AITER's to take or to refuse in its own words",
          "[aiter_tree]") {
  const std::string line = "mla1:2q1s9;heads=80;cu=4;planner=none";
  const Right right;
  prop::Subject taken = subject_of(*right.backend, line);
  REQUIRE(taken.shape());
  CHECK(taken.shape()->route == Route::split);
  CHECK(taken.shape()->heads.kernel == Heads(80));
  const Tree tree("refuses");
  const auto process = tree.start();
  REQUIRE(process);
  const auto backend = make_tree_backend(*process, {});
  prop::Subject refused = subject_of(*backend, line);
  CHECK(refused.shape().error().code == ErrorCode::unsupported);
  CHECK(refused.shape().error().message == "AITER: AssertionError: nhead=17 (mla.py:9)");
}

TEST_CASE("aiter tree: heads fold as AITER folds them, where the core's table does otherwise",
          "[aiter_tree]") {
  const std::string line = "mla1:2q2s9;heads=96;dtype=fp8/fp8;cu=4;planner=v12";
  for (const auto& [how, fold] : {std::pair("right", 1), std::pair("folds", 6)}) {
    const Tree tree(how);
    const auto process = tree.start();
    REQUIRE(process);
    const auto backend = make_tree_backend(*process, {});
    prop::Subject subject = subject_of(*backend, line);
    REQUIRE(subject.shape());
    CHECK(subject.shape()->fold_ratio() == fold);
    CHECK(subject.shape()->row_heads() == Heads(96 / fold));
  }
}

TEST_CASE("aiter tree: a work that may not run is a fault and is left out of the lists",
          "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9_1q1s5;heads=16;cu=4;planner=v12");
  const DecodeMetadata& md = *subject.metadata();
  plan::Plan damaged = md.plan->clone();
  plan::WorkItem first = damaged.work(0);
  first.kv_end = 1000;
  damaged.set_work(0, first);
  const prop::StepLists lists(md);
  const DecodeMetadata broken = lists.with(md, std::move(damaged));
  const auto result = backend->run({broken, *subject.tensors()}, {});
  REQUIRE(result);
  CHECK(result->faults.size() == 1);
  const nlohmann::json asked = tree.asked()[1];
  CHECK(asked["work_indptr"] == nlohmann::json({0, 0, 1, 1, 1}));
  CHECK(asked["work_info_set"][0] == 1);
}

TEST_CASE("aiter tree: rows without a key have output 0 and LSE -inf, whatever AITER answers",
          "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9_1q1s0;heads=16;cu=4;planner=v12");
  const auto result = backend->run({*subject.metadata(), *subject.tensors()}, {});
  REQUIRE(result);
  CHECK(result->out[0] == 0x3F80);  // 1, as the script answers
  CHECK(result->out[16 * kBuiltIn.value().count()] == 0);
  CHECK(result->lse[16] == -std::numeric_limits<float>::infinity());
}

TEST_CASE("aiter tree: without a plan a page outside of the cache is refused before the launch",
          "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9;heads=16;planner=none");
  const DecodeMetadata& md = *subject.metadata();
  prop::StepLists lists(md);
  lists.kv_indices[0] = -1;
  const DecodeMetadata broken = lists.with(md, std::nullopt);
  CHECK(backend->run({broken, *subject.tensors()}, {}).error().code == ErrorCode::refused);
}

TEST_CASE("aiter tree: a shape of another architecture is not supported", "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject other = subject_of(cpu_backend(), "mla1:1q1s9;arch=gfx950");
  CHECK(backend->supports(*other.shape()).reason ==
        "a case of gfx950 does not run on device emulated:gfx942");
}

TEST_CASE("aiter tree: decodes and plans run as they were asked to, or under the drawn timing",
          "[aiter_tree]") {
  const Tree tree("right");
  const auto process = tree.start();
  REQUIRE(process);
  const gfx::RunOptions run = {.schedule = {.slice = 16}, .arrival = {gfx::Arrival::Mode::late}};
  const auto backend = make_tree_backend(*process, run);
  const auto asked = [&] { return tree.asked()[0]["run"]; };
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9;heads=16;cu=4");
  REQUIRE(subject.metadata());
  CHECK(asked()["schedule"] == "slice=16");
  CHECK(asked()["arrival"] == "late");
  const DecodeLaunch launch = {*subject.metadata(), *subject.tensors()};
  REQUIRE(backend->run(launch, {}));
  CHECK(asked()["schedule"] == "slice=16");
  REQUIRE(backend->run(launch, {.timing_seed = 24 + 9}));
  CHECK(asked()["schedule"] == "slice=1,order=shuffled.33");
  CHECK(asked()["arrival"] == "random.33");
  CHECK(backend->timing(33) == "--schedule slice=1,order=shuffled.33 --arrival random.33");
  REQUIRE(backend->run(launch, {.checked = true}));
  CHECK(asked()["checks"] == "waits,lds,barriers");
  CHECK(asked()["arrival"] == "early");
}

TEST_CASE("aiter tree: P43 asks for plan and decode under six timings", "[aiter_tree]") {
  const Right right;
  const auto& [tree, backend] = right;
  prop::Subject subject = subject_of(*backend, "mla1:1q1s9_1q1s5;heads=16;cu=4");
  CHECK(prop::find_property("P43")->check(subject).verdict == prop::Verdict::pass);
  CHECK(tree.asked()[0]["call"] == "decode");
  CHECK(tree.asked()[0]["run"]["arrival"] == "late");  // the last of them
}

TEST_CASE("aiter tree: P43 fails for a plan, and for an output, that another timing changes",
          "[aiter_tree]") {
  for (const auto& [how, sentence] : {std::pair("plans-by-timing", " the plan is another one"),
                                      std::pair("decodes-by-timing", " the result differs: ")}) {
    const Tree tree(how);
    const auto process = tree.start();
    REQUIRE(process);
    const auto backend = make_tree_backend(*process, {});
    prop::Subject subject = subject_of(*backend, "mla1:1q1s9_1q1s5;heads=16;cu=4");
    const prop::Outcome outcome = prop::find_property("P43")->check(subject);
    CHECK(outcome.verdict == prop::Verdict::fail);
    CHECK(outcome.message.find(sentence) != std::string::npos);
  }
}
