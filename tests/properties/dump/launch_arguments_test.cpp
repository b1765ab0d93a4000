// Claims about what `check` says of the arguments of a launch that was dumped beside its plan.
#include "properties/dump/check/launch_arguments.hpp"

#include <tuple>

#include "properties/dump/read/parts.hpp"
#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using namespace mla::dump::test;
using mla::test::contains;

namespace {

Result<std::int64_t> splits_of(const json& object, std::int64_t dumped) {
  const auto call = read_planner_call(object);
  const auto launch = read_launch(object, std::nullopt);
  REQUIRE(call.ok());
  return launch ? launched_splits(*call, *launch, dumped) : launch.error();
}

// What is found: "planned for `planned`, `gets`", by the builder.
void blames_builder(const json& step, const std::string& planned, const std::string& gets) {
  const Answer answer = checked(step);
  INFO(planned << ", " << gets);
  CHECK(launch_finding(step) == "planned for " + planned + ", " + gets);
  CHECK(answer.findings.size() > 1);  // and why that is wrong
  CHECK(answer.culprit == "the builder");
  CHECK(answer.diagnosis == "it is the plan of " + planned + ", " + gets);
}

// What is no fault: a note that begins with `difference`.
void only_notes(const json& step, const std::string& difference) {
  const Answer answer = checked(step);
  CHECK(answer.findings.empty());
  REQUIRE_FALSE(answer.notes.empty());
  CHECK(answer.notes.back() == difference + "; what the kernel found is valid as well");
}

}  // namespace

TEST_CASE("launched call: arguments that the planner was told of too are no difference",
          "[cli][check]") {
  json step = step_of(16, 2, kBf16);
  step.update({{"launch_num_heads", 16},
               {"launch_dtype_q", kBf16},
               {"launch_dtype_kv", kBf16},
               {"launch_page_size", 1},
               {"launch_causal", true},
               {"launch_cp_world_size", 1},
               {"launch_cp_rank", 0},
               {"launch_num_kv_splits", 16}});
  CHECK(checked(step).findings.empty());
  CHECK(checked(step).notes.empty());
  // The planner counts the heads of all KV heads together.
  step.update({{"num_heads_per_head_k", 8}, {"num_heads_k", 2}});
  for (const Finding& f : checked(step).findings) CHECK(f.rule != kLaunchRule);
  CHECK(checked(step).notes.empty());
}

TEST_CASE("launched call: a plan of other heads than the kernel gets is the builder's (BUG-021)",
          "[cli][check]") {
  json step = step_of(16, 2, kFp8);
  step["launch_num_heads"] = 128;
  blames_builder(step, "16 heads", "the kernel gets 128");
  // On gfx950 both are planned as one tile of two rows.
  step = step_of(16, 2, kBf16, {{"arch", "gfx950"}});
  step["launch_num_heads"] = 32;
  only_notes(step, "planned for 16 heads, the kernel gets 32");
}

TEST_CASE("launched call: a plan of other dtypes than the tensors have is the builder's (BUG-023)",
          "[cli][check]") {
  json step = step_of(128, 3, kBf16);
  step.update({{"launch_dtype_q", kFp8}, {"launch_dtype_kv", kFp8}});
  blames_builder(step, "bf16/bf16 tensors", "the kernel gets fp8/fp8");
  step = step_of(16, 1, kBf16);
  step["launch_dtype_kv"] = kFp8;
  only_notes(step, "planned for bf16/bf16 tensors, the kernel gets bf16/fp8");
}

TEST_CASE("launched call: a plan of other pages than the kernel gets is the builder's (BUG-122)",
          "[cli][check]") {
  json step = step_of(16, 1, kBf16);
  step["launch_page_size"] = 16;
  blames_builder(step, "pages of 1", "the kernel gets pages of 16");
}

TEST_CASE("launched call: a mask that the planner was not told of is the builder's",
          "[cli][check]") {
  json step = step_of(128, 4, kFp8, {{"is_causal", false}});
  step["launch_causal"] = true;
  blames_builder(step, "a step without a causal mask", "the kernel gets a causal one");
  step = step_of(128, 4, kFp8, {{"arch", "gfx950"}});
  step["launch_causal"] = false;
  blames_builder(step, "a causal step", "the kernel gets one without");
  // SGLang's plans of several rows in one tile.
  step = step_of(16, 2, kFp8, {{"is_causal", false}, {"arch", "gfx950"}});
  step["launch_causal"] = true;
  only_notes(step, "planned for a step without a causal mask, the kernel gets a causal one");
}

TEST_CASE("launched call: the mask of one row is no difference", "[cli][check]") {
  for (const bool planned : {true, false}) {
    json step = step_of(16, 1, kFp8, {{"is_causal", planned}});
    step["launch_causal"] = !planned;
    CHECK(checked(step).findings.empty());
    CHECK(checked(step).notes.empty());
  }
}

TEST_CASE("launched call: a launch that no kernel was built for is the builder's", "[cli][check]") {
  json step = step_of(16, 2, kBf16, {{"is_causal", false}});
  step["launch_causal"] = false;
  CHECK(launch_finding(step) ==
        "causal is false, and there is no unmasked build of a16w16 qh16_m16x4 on gfx942");
  CHECK(checked(step).culprit == "the builder");
  for (const auto& [heads, rows, arch, dtype, built] :
       {std::tuple(16, 1, "gfx942", kFp8, false), std::tuple(16, 1, "gfx950", kFp8, false),
        std::tuple(16, 2, "gfx950", kFp8, false), std::tuple(16, 4, "gfx950", kFp8, true),
        std::tuple(48, 4, "gfx950", kFp8, true), std::tuple(32, 4, "gfx950", kFp8, true),
        std::tuple(64, 1, "gfx950", kBf16, true), std::tuple(128, 2, "gfx950", kBf16, true)}) {
    INFO(heads << " heads, " << rows << " rows, " << dtype << ", " << arch);
    step = step_of(heads, rows, dtype, {{"arch", arch}, {"is_cp_round_robin", true}});
    step.update({{"launch_cp_world_size", 2}, {"launch_cp_rank", 1}});
    CHECK(checked(step).findings.empty() == built);
    if (!built) CHECK_THAT(launch_finding(step), contains("there is no round-robin build of"));
  }
}

TEST_CASE(
    "launched call: folded heads of requests with other rows than the launch are the builder's",
    "[cli][check]") {
  json step = step_of(32, 2, kBf16);
  CHECK(checked(step).findings.empty());
  step["launch_max_seqlen_q"] = 4;
  CHECK(launch_finding(step) == "planned for 2 query rows a request, the kernel gets 4");
  CHECK_THAT(checked(step).findings.back().what,
             contains("request 0 has 2 rows, so that AITER folds rows of several requests"));
  CHECK(checked(step).culprit == "the builder");
  step = step_of(16, 2, kBf16);  // not folded
  step["launch_max_seqlen_q"] = 4;
  CHECK(checked(step).findings.empty());
}

TEST_CASE("check: what a kernel gets wrong by shape, batch or scale alone is a note",
          "[cli][check]") {
  const auto noted = [](const json& step, const char* finding) {
    for (const std::string& note : checked(step).notes)
      if (note.find(finding) != std::string::npos) return true;
    return false;
  };
  const json on950 = {{"arch", "gfx950"}};
  CHECK(noted(step_of(8, 8, kBf16, on950), "AITER-18"));
  CHECK_FALSE(noted(step_of(16, 8, kBf16, on950), "AITER-18"));
  json step = step_of(16, 2, kFp8, {{"seqlens_qo_indptr", {0, 2, 3}}, {"uni_seqlen_qo", -1}});
  CHECK(noted(step, "AITER-16"));
  CHECK_FALSE(noted(step_of(16, 2, kFp8), "AITER-16"));
  step = step_of(16, 4, kFp8);
  CHECK_FALSE(noted(step, "AITER-01"));
  step["kv_scale"] = 0.5;
  CHECK(noted(step, "AITER-01"));
}

TEST_CASE("launched call: splits without a plan are the caller's, or those of all listed pages",
          "[cli][check]") {
  const json call = {{"arch", "gfx950"},
                     {"num_cu", 5},
                     {"seqlens_qo_indptr", {0, 1, 2}},
                     {"seqlens_kv_indptr", {0, 20, 40}},
                     {"kv_last_page_lens", {1, 1}},
                     {"num_heads_per_head_k", 16},
                     {"num_heads_k", 1},
                     {"is_causal", true},
                     {"max_seqlen_qo", 1}};
  const auto splits = [&](const json& launch, std::int64_t dumped = 40) {
    json object = call;
    object.update(launch);
    return splits_of(object, dumped);
  };
  CHECK(*splits(json::object()) == 2);
  CHECK(*splits(json::object(), 100000) == 5);
  CHECK(*splits({{"launch_total_kv", 100000}}) == 5);
  CHECK(*splits({{"launch_num_kv_splits", 7}}) == 7);
  // An fp8 query has a limit, unless the caller brings the list as well.
  const json fp8 = {{"launch_num_kv_splits", 8}};
  json with_list = fp8;
  with_list["launch_num_kv_splits_indptr"] = {0, 8, 16};
  json object = call;
  object.update({{"dtype_q", kFp8}, {"dtype_kv", kFp8}});
  const auto of_fp8 = [&object](const json& launch) {
    json step = object;
    step.update(launch);
    return splits_of(step, 600);
  };
  CHECK(*of_fp8(fp8) == 3);
  CHECK(*of_fp8(with_list) == 8);
  with_list["launch_num_kv_splits_indptr"] = {0, 8, 15};
  CHECK_THAT(of_fp8(with_list).error().message, contains("gives not every request 8 splits"));
  CHECK_THAT(splits({{"launch_num_kv_splits", 65}}).error().message, contains("at most 64"));
  CHECK_THAT(splits({{"launch_total_kv", -1}}).error().message, contains("at least 0"));
}

TEST_CASE("launched call: without a plan, lists and arguments must be those of the call",
          "[cli][check]") {
  json step = step_of(16, 4, kBf16);
  for (const char* key : kBuffers) {
    step.erase(key);
    step.erase(std::string("launch_") + key);
  }
  step.erase("launch_addresses");
  CHECK(checked(step).not_checked == "there are no plan buffers");
  json other = step;
  other["launch_num_heads"] = 128;
  CHECK(launch_finding(other) == "planned for 16 heads, the kernel gets 128");
  CHECK(checked(other).culprit == "the builder");
  other = step;
  other["launch_seqlens_kv_indptr"][1] = 499;
  CHECK_THAT(launch_finding(other), contains("seqlens_kv_indptr[1] was planned as 500"));
  other = step;
  other["launch_max_seqlen_q"] = 1;
  CHECK_THAT(launch_finding(other), contains("nothing writes the others"));
  other["launch_max_seqlen_q"] = 0;
  CHECK_THAT(launch_finding(other), contains("a kernel takes at least 1 row"));
  other["launch_dtype_q"] = "fp4";
  CHECK_THAT(refusal(other), contains("it must be bf16 or fp8"));
}

TEST_CASE("launched call: a plan that the planner makes for the launch as well is the planner's",
          "[cli][check]") {
  // v1.0 leaves a last piece of five keys, of which the first rows see none (BUG-012).
  json step = step_of(16, 8, kFp8,
                      {{"arch", "gfx950"},
                       {"num_cu", 256},
                       {"seqlens_kv_indptr", {0, 2917, 5834}},
                       {"is_causal", false},
                       {"fast_mode", false},
                       {"intra_batch_mode", true},
                       {"max_split_per_batch", 32}});
  CHECK(checked(step).culprit.empty());
  step["launch_causal"] = true;
  CHECK(launch_finding(step) ==
        "planned for a step without a causal mask, the kernel gets a causal one");
  CHECK_THAT(checked(step).findings[1].what, contains("see none of its keys"));
  CHECK(checked(step).culprit == "the planner");
  CHECK_THAT(checked(step).diagnosis, contains("for what the kernel gets as well"));
}

TEST_CASE("launched call: a kernel of context parallelism needs all keys in each tile (BUG-066)",
          "[cli][check]") {
  const json on950 = {{"arch", "gfx950"}};
  json step = step_of(128, 4, kBf16, on950);
  step.update({{"launch_cp_world_size", 4}, {"launch_cp_rank", 1}});
  blames_builder(step, "a step without context parallelism", "the kernel gets cp_world_size 4");
  step = step_of(128, 4, kBf16, {{"arch", "gfx950"}, {"is_cp_round_robin", true}});
  step["launch_cp_world_size"] = 4;
  CHECK(checked(step).findings.empty());
  CHECK(checked(step).notes.empty());
  step["launch_cp_world_size"] = 1;
  only_notes(step, "planned for a step of context parallelism, the kernel gets one without");
}

TEST_CASE("launched call: a reduce with room for fewer pieces than a tile has is a finding",
          "[cli][check]") {
  json step = step_of(16, 1, kBf16, {{"fast_mode", false}, {"intra_batch_mode", true}});
  CHECK(checked(step).findings.empty());
  step["launch_num_kv_splits"] = 16;
  CHECK(checked(step).findings.empty());
  CHECK(checked(step).notes.empty());
  step["launch_num_kv_splits"] = 8;
  CHECK(launch_finding(step) ==
        "planned for up to 32 pieces of a request, the kernel gets num_kv_splits 8");
  CHECK_THAT(checked(step).findings[1].what, contains("pieces, and the reduce has room for 8"));
}

TEST_CASE("launched call: of several differences the diagnosis names those that matter",
          "[cli][check]") {
  json step = step_of(16, 2, kFp8, {{"is_causal", false}});
  step.update({{"launch_num_heads", 128}, {"launch_causal", true}});
  CHECK(launch_finding(step) ==
        "planned for 16 heads, the kernel gets 128; planned for a step without a causal mask, the "
        "kernel gets a causal one");
  CHECK(checked(step).diagnosis == "it is the plan of 16 heads, the kernel gets 128");
}

TEST_CASE("launched call: the kernel is that of the launch, whatever the planner was told",
          "[cli][check]") {
  // No kernel takes 8 rows of bf16 on gfx942.
  json step = step_of(16, 8, kBf16);
  CHECK(checked(step).findings[0].rule == kKernelRule);
  step = step_of(16, 4, kBf16);
  step["launch_dtype_q"] = kFp8;
  CHECK(checked(step).findings.back().what ==
        "no persistent kernel is right for 16 heads, 4 query rows, fp8/bf16 on gfx942");
  // Nor does a planner take 12 heads.
  step = step_of(16, 4, kBf16);
  step["launch_num_heads"] = 12;
  CHECK(launch_finding(step) == "planned for 16 heads, the kernel gets 12");
  CHECK_THAT(checked(step).findings.back().what, contains("no planner entry for 12 heads"));
  CHECK(checked(step).diagnosis == "it is the plan of 16 heads, the kernel gets 12");
  // Told fp8/bf16, which no kernel takes, and launched with what one does.
  step = step_of(16, 1, kBf16, {{"dtype_q", kFp8}});
  step.update({{"launch_dtype_q", kBf16}, {"launch_dtype_kv", kBf16}});
  only_notes(step, "planned for fp8/bf16 tensors, the kernel gets bf16/bf16");
}

TEST_CASE("launched call: a plan that was overwritten and is right for the launch came after",
          "[cli][check]") {
  json step = step_of(16, 2, kFp8, {{"is_causal", false}, {"arch", "gfx950"}});
  step["launch_causal"] = true;
  step["launch_work_info"][5] = 1;
  CHECK(checked(step).culprit == "what came after the planner");
  CHECK_THAT(launch_finding(step), contains("the kernel gets a causal one; changed between "
                                            "planner and kernel: work 0 kv_end"));
  step["launch_num_heads"] = 128;
  CHECK(checked(step).culprit == "the builder");
}

TEST_CASE("launched call: a key that holds something else is refused by name", "[cli][check]") {
  for (const auto& [key, value, why] :
       {std::tuple("launch_num_heads", json("16"), "it must be a 32-bit integer"),
        std::tuple("launch_num_heads", json(0), "it must be at least 1"),
        std::tuple("launch_dtype_q", json("f16"), "it must be bf16 or fp8"),
        std::tuple("launch_dtype_kv", json(8), "it must be a string"),
        std::tuple("launch_page_size", json(3), "it must be a power of two"),
        std::tuple("launch_causal", json(1), "it must be true or false"),
        std::tuple("launch_cp_world_size", json("two"), "it must be a 32-bit integer"),
        std::tuple("launch_cp_rank", json(0.5), "it must be a 32-bit integer"),
        std::tuple("launch_persistent", json(1), "it must be true or false"),
        std::tuple("launch_total_kv", json("all"), "it must be a 32-bit integer"),
        std::tuple("launch_num_kv_splits", json::array(), "it must be a 32-bit integer")}) {
    json step = step_of(16, 2, kBf16);
    step[key] = value;
    CHECK_THAT(refusal(step), contains(std::string("key '") + key + "' is ") && contains(why));
  }
}
