// A planned step as a kernel finds it, and what `check` says of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/read/parts.hpp"
#include "properties/dump/write/plan.hpp"
#include "tests/catch.hpp"

namespace mla::dump::test {

using nlohmann::json;

inline constexpr const char* kBuffers[] = {"work_indptr", "work_info", "reduce_indptr",
                                           "reduce_final_map", "reduce_partial_map"};
inline constexpr const char* kLists[] = {"seqlens_qo_indptr", "seqlens_kv_indptr",
                                         "kv_last_page_lens"};
inline constexpr std::uint64_t kHighAddress = 0xfffe'0000'1234'5000;

// Two requests of 2 rows and 500 keys, planned as AITER does, and the kernel that found the same.
// `other`: keys of the call that are not as here.
inline json launched(int most_splits = -1, const json& other = json::object()) {
  json step = {{"arch", "gfx942"},
               {"num_cu", 4},
               {"seqlens_qo_indptr", {0, 2, 4}},
               {"seqlens_kv_indptr", {0, 500, 1000}},
               {"kv_last_page_lens", {1, 1}},
               {"num_heads_per_head_k", 16},
               {"num_heads_k", 1},
               {"is_causal", true},
               {"max_seqlen_qo", 2},
               {"max_split_per_batch", most_splits}};
  step.update(other);
  const auto call = read_planner_call(step);
  REQUIRE(call.ok());
  const auto sizes = plan::query_sizes(call->sizes());
  REQUIRE(sizes.ok());
  plan::PlanInput input = call->input;
  input.fidelity = plan::Fidelity::as_aiter;
  const auto plan = plan::make_plan(input, *sizes);
  REQUIRE(plan.ok());
  nlohmann::ordered_json planned;
  write_plan(planned, *sizes, *plan);
  step.update(json::parse(planned.dump()));
  for (const char* key : kBuffers) step[std::string("launch_") + key] = step[key];
  for (const char* key : kLists) step[std::string("launch_") + key] = step[key];
  step["launch_max_seqlen_q"] = 2;
  step["launch_addresses"] = {
      {"work_indptr", kHighAddress}, {"work_info", 4096}, {"work_meta_data", {kHighAddress, 4096}}};
  return step;
}

inline constexpr const char* kBf16 = "bf16";
inline constexpr const char* kFp8 = "fp8";

// A call of `heads` heads and two requests of `rows` rows, planned and launched for those rows.
inline json step_of(int heads, int rows, const char* dtype, json other = json::object()) {
  json call = {{"num_heads_per_head_k", heads},
               {"dtype_q", dtype},
               {"dtype_kv", dtype},
               {"seqlens_qo_indptr", {0, rows, 2 * rows}},
               {"max_seqlen_qo", rows},
               {"uni_seqlen_qo", rows}};
  call.update(other);
  json step = launched(-1, call);
  step["launch_max_seqlen_q"] = rows;
  return step;
}

inline Result<Answer> read_and_check(const json& step) {
  const auto dump = read_dump(step, 0);
  return dump ? check(*dump) : Result<Answer>(dump.error());
}

inline Answer checked(const json& step) {
  const auto answer = read_and_check(step);
  INFO((answer.ok() ? "" : answer.error().message));
  REQUIRE(answer.ok());
  return *answer;
}

// The finding of rule "launch"; there is one.
inline std::string launch_finding(const json& step) {
  std::vector<std::string> found;
  for (const Finding& f : checked(step).findings)
    if (f.rule == kLaunchRule) found.push_back(f.what);
  REQUIRE(found.size() == 1);
  return found[0];
}

inline std::string refusal(const json& step) {
  const auto answer = read_and_check(step);
  REQUIRE_FALSE(answer.ok());
  return answer.error().message;
}

}  // namespace mla::dump::test
