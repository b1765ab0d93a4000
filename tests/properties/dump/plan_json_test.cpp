// Claims about plans as JSON: which keys a case needs, and what a bad one says.
#include "properties/dump/plan/plan_json.hpp"

#include <nlohmann/json.hpp>

#include "tests/properties/dump/launched_step.hpp"

using mla::dump::plan_json;
using mla::test::contains;
using nlohmann::json;

namespace {

const json kDecode = json::parse(R"({
  "name": "small", "arch": "gfx942", "num_cu": 4,
  "seqlens_qo_indptr": [0, 1, 2, 3, 4], "seqlens_kv_indptr": [0, 100, 800, 801, 1101],
  "kv_last_page_lens": [1, 1, 1, 1], "num_heads_per_head_k": 16, "num_heads_k": 1,
  "is_causal": true, "max_seqlen_qo": 1, "uni_seqlen_qo": 1})");

const json kPrefill = json::parse(R"({
  "name": "prefill", "arch": "gfx950", "num_cu": 3, "seqlens_qo_indptr": [0, 64],
  "pages_kv_indptr": [0, 4], "context_lens": [64], "gqa_ratio": 1, "num_heads_k": 1})");

json run(std::initializer_list<json> cases, const mla::dump::PlanJsonOptions& options = {}) {
  json document;
  document["cases"] = json(json::array_t(cases));
  const auto text = plan_json(document.dump(), options);
  REQUIRE(text.ok());
  return json::parse(*text)["results"];
}

std::string error_with(json object, const char* key, const json& value) {
  object[key] = value;
  return run({object})[0].value("error", "planned");
}

std::string error_without(json object, const char* key) {
  object.erase(key);
  return run({object})[0].value("error", "planned");
}

}  // namespace

TEST_CASE("plan as JSON: buffers have their sizes, null where unwritten, no unwritten tail",
          "[cli][plan]") {
  const json result = run({kDecode})[0];
  CHECK(result["name"] == "small");
  CHECK(result["buffer_sizes"]["work_info_set"] == json::array({7, 8}));
  CHECK(result["work_indptr"] == json::array({0, 2, 3, 5, 6}));
  CHECK(result["work_info"].size() == 48);
  CHECK(result["reduce_indptr"] == json::array({0, 0, 2, 2, 4}));
  CHECK(result["reduce_final_map"] == json::parse("[null, null, 1, 2, null, null, 3, 4]"));
  CHECK(result["reduce_partial_map"] == json::array({0, 1, 2, 3}));
}

TEST_CASE("plan as JSON: absent keys take the defaults of the original call", "[cli][plan]") {
  json spelled_out = kDecode;
  const json defaults = json::parse(R"({"page_size": 1, "kv_granularity": 16, "fast_mode": true,
    "topk": -1, "max_split_per_batch": -1, "intra_batch_mode": false, "is_cp_round_robin": false,
    "dtype_q": "bf16", "dtype_kv": "bf16"})");
  spelled_out.update(defaults);
  CHECK(run({kDecode}) == run({spelled_out}));
  json unknown = kDecode;
  unknown.erase("max_seqlen_qo");
  unknown.erase("uni_seqlen_qo");
  json minus_one = kDecode;
  minus_one["max_seqlen_qo"] = -1;
  minus_one["uni_seqlen_qo"] = -1;
  CHECK(run({unknown}) == run({minus_one}));
  json prefill = kPrefill;
  prefill.update(json::parse(R"({"qhead_granularity": 1, "qlen_granularity": 256,
    "kvlen_granularity": 16, "block_size": 16, "is_causal": true})"));
  CHECK(run({kPrefill}) == run({prefill}));
}

TEST_CASE("plan as JSON: a call that asks for gigabytes is an error of its own", "[cli][plan]") {
  const auto of = [](const char* key, std::int64_t value) {
    json large = kDecode;
    large[key] = value;
    const json results = run({large, kDecode});
    CHECK(results[1] == run({kDecode})[0]);  // the other case keeps its plan
    return results[0].value("error", "planned");
  };
  CHECK(of("max_seqlen_qo", 2147483647) ==
        "key 'max_seqlen_qo' is 2147483647: expected at most 4096");
  CHECK(of("uni_seqlen_qo", 4097) == "key 'uni_seqlen_qo' is 4097: expected at most 4096");
  CHECK(of("num_cu", 2147483647) == "key 'num_cu' is 2147483647: expected at most 1024");
  CHECK(error_with(kPrefill, "num_cu", 1025) == "key 'num_cu' is 1025: expected at most 1024");
  CHECK(of("num_cu", 1024) == "planned");
  CHECK(error_with(kPrefill, "num_heads_k", 129) ==
        "key 'num_heads_k' is 129: expected at most 128");
  for (const char* key : {"num_heads_k", "num_heads_per_head_k"})
    CHECK_THAT(error_with(kDecode, key, 2147483647), contains("2147483647: expected at most 128"));
  for (const char* key : {"num_kv_splits", "max_split_per_batch"})
    CHECK_THAT(error_with(kDecode, key, 65537), contains("is 65537: expected at most 65536"));
  mla::dump::PlannerCall requests;
  requests.refer_to({mla::dump::Words(4194306, 0), {}, {}});
  CHECK_THAT(too_large(requests).value().message,
             contains("has 4194305 requests: expected at most 4194304"));
  json rows = kDecode;
  rows.erase("max_seqlen_qo");
  rows.erase("uni_seqlen_qo");
  CHECK(error_with(rows, "seqlens_qo_indptr", {0, 1, 2, 3, 100000000}) ==
        "key 'seqlens_qo_indptr' ends in 100000000: expected at most 4194304 query rows");
  CHECK(error_with(rows, "seqlens_qo_indptr", {0, 1, 2, 3, 5000}) ==
        "key 'seqlens_qo_indptr' gives a request 4997 query rows: expected at most 4096");
  CHECK_THAT(error_with(kPrefill, "seqlens_qo_indptr", {0, 100000000}),
             contains("ends in 100000000"));
  rows["intra_batch_mode"] = true;
  rows["fast_mode"] = false;
  rows["max_seqlen_qo"] = 4096;
  CHECK_THAT(error_with(rows, "num_kv_splits", 65536),
             contains("works among them: expected at most 67108864 words"));
}

TEST_CASE("plan as JSON: every required key is asked for by name", "[cli][plan]") {
  for (const char* key : {"arch", "num_cu", "seqlens_qo_indptr", "seqlens_kv_indptr",
                          "kv_last_page_lens", "num_heads_per_head_k", "num_heads_k"})
    CHECK(error_without(kDecode, key) == "key '" + std::string(key) + "' is missing");
  for (const char* key : {"arch", "num_cu", "seqlens_qo_indptr", "gqa_ratio", "num_heads_k"})
    CHECK(error_without(kPrefill, key) == "key '" + std::string(key) + "' is missing");
  CHECK(error_without(kPrefill, "context_lens") == "key 'context_lens' is missing");
  CHECK(error_without(kPrefill, "pages_kv_indptr") == "key 'pages_kv_indptr' is missing");
}

TEST_CASE("plan as JSON: a value of a wrong type is shown with its key", "[cli][plan]") {
  CHECK(error_with(kDecode, "num_cu", "304") ==
        "key 'num_cu' is \"304\": it must be a 32-bit integer");
  CHECK_THAT(error_with(kDecode, "num_cu", 304.5), contains("304.5"));
  CHECK_THAT(error_with(kDecode, "num_cu", 4294967296), contains("4294967296"));
  CHECK_THAT(error_with(kDecode, "num_cu", 18446744073709551615U), contains("32-bit"));
  CHECK_THAT(error_with(kDecode, "is_causal", 1), contains("'is_causal' is 1"));
  CHECK_THAT(error_with(kDecode, "arch", "gfx90a"), contains("'arch' is 'gfx90a'"));
  CHECK_THAT(error_with(kDecode, "dtype_q", "fp16"), contains("'dtype_q' is 'fp16'"));
  CHECK_THAT(error_with(kDecode, "dtype_kv", 3), contains("'dtype_kv' is 3"));
  CHECK_THAT(error_with(kDecode, "seqlens_kv_indptr", 7), contains("must be a list"));
  CHECK_THAT(error_with(kDecode, "seqlens_kv_indptr", json::array({0, nullptr})),
             contains("holds null at place 1"));
}

TEST_CASE("plan as JSON: a bad case does not keep the others from running", "[cli][plan]") {
  json bad = kDecode;
  bad["kv_granularity"] = 24;
  bad["name"] = "bad";
  json nameless = kDecode;
  nameless.erase("name");
  const json results = run({kDecode, bad, 7, nameless, kPrefill});
  REQUIRE(results.size() == 5);
  CHECK_FALSE(results[0].contains("error"));
  CHECK(results[1]["name"] == "bad");
  CHECK_THAT(results[1]["error"].get<std::string>(), contains("kv_granularity is 24"));
  CHECK_THAT(results[2]["error"].get<std::string>(), contains("case 2 is not a JSON object"));
  CHECK_THAT(results[3]["error"].get<std::string>(), contains("key 'name' is missing"));
  CHECK_FALSE(results[4].contains("error"));
}

TEST_CASE("plan as JSON: refusals carry their bug, as_aiter carries overruns instead",
          "[cli][plan][BUG-015]") {
  json small = kDecode;
  small.update(json::parse(R"({"fast_mode": false, "num_heads_per_head_k": 64, "dtype_q": "fp8",
    "dtype_kv": "fp8"})"));
  const json refused = run({small})[0];
  CHECK(refused["bug"] == "BUG-015");
  const json original = run({small}, {.as_aiter = true})[0];
  CHECK(original["overruns"]["reduce_indptr"].size() == 12);
}

TEST_CASE("plan as JSON: with valid_only, a plan that check would call broken is refused in words",
          "[cli][plan]") {
  const auto changed = [](const char* changes) {
    json call = json::parse(R"({"name": "x", "arch": "gfx942", "num_cu": 1, "is_causal": true,
      "seqlens_qo_indptr": [0, 2, 4, 6], "seqlens_kv_indptr": [0, 300, 300, 600],
      "kv_last_page_lens": [1, 1, 1], "num_heads_per_head_k": 16, "num_heads_k": 1,
      "max_seqlen_qo": 2, "uni_seqlen_qo": 2})");
    call.update(json::parse(changes));
    return call;
  };
  const std::string start = "the original planner gives no valid plan for this call: ";
  const auto expect_refused = [&](const char* changes, const char* what, const char* bug) {
    const json call = changed(changes);
    INFO(call.dump());
    const json refused = run({call}, {.valid_only = true})[0];
    CHECK_THAT(refused.value("error", "planned"), contains(start) && contains(what));
    CHECK(refused.value("bug", "") == bug);
    CHECK(run({call}, {.as_aiter = true})[0].contains("work_info"));
  };
  expect_refused("{}", "never runs the work after it", "AITER-13");
  const json two = changed(R"({"num_cu": 4, "num_heads_per_head_k": 8, "num_heads_k": 2})");
  CHECK(run({two}, {.valid_only = true})[0]["error"] ==
        "AITER's decode kernels take one KV head, num_heads_k is 2");
  expect_refused(R"({"seqlens_kv_indptr": [0, 30, 60, 90], "num_heads_per_head_k": 128,
                     "page_size": 16, "dtype_q": "fp8", "dtype_kv": "fp8"})",
                 "must be hidden, but the kernel does not mask", "");
  const json lists = changed(R"({"kv_last_page_lens": [1, 1, 3]})");
  CHECK_THAT(run({lists}, {.valid_only = true})[0].value("error", "planned"), contains("last"));
  // What is valid, or cannot be checked, is planned as before.
  const json sparse = changed(R"({"topk": 64})");
  json prefill = kPrefill;
  CHECK_THAT(run({prefill}, {.valid_only = true})[0].value("error", "planned"),
             contains("block_size is 16"));
  prefill.update({{"block_size", 1}, {"pages_kv_indptr", {0, 300}}, {"context_lens", {300}}});
  CHECK_THAT(run({prefill}, {.valid_only = true})[0].value("error", "planned"),
             contains("wrong for pieces that begin elsewhere (AITER-34)"));
  prefill.update({{"kvlen_granularity", 128}});
  for (const json& call : {kDecode, prefill, sparse})
    CHECK(run({call}, {.valid_only = true}) == run({call}));
}

TEST_CASE("plan as JSON: force_serial gives an empty request its work", "[cli][plan][BUG-074]") {
  json zeros = kDecode;
  zeros["num_cu"] = 80;
  zeros["seqlens_qo_indptr"] = {0, 1, 2};
  zeros["seqlens_kv_indptr"] = {0, 64, 64};
  zeros["kv_last_page_lens"] = {1, 1};
  CHECK(run({zeros})[0]["work_info"].size() + 8 ==
        run({zeros}, {.force_serial = true})[0]["work_info"].size());
}

TEST_CASE("plan as JSON: a document without cases is no document", "[cli][plan]") {
  CHECK_FALSE(plan_json("{", {}).ok());
  CHECK_FALSE(plan_json("[]", {}).ok());
  CHECK_FALSE(plan_json(R"({"cases": 3})", {}).ok());
  CHECK(plan_json(R"({"cases": []})", {}).value() == R"({"results":[]})");
}

TEST_CASE("plan as JSON: a prefill plan that was written past the end of a buffer is broken",
          "[cli][check]") {
  json step = kPrefill;
  step.update({{"pages_kv_indptr", {0, 64}}, {"block_size", 1}, {"kvlen_granularity", 128}});
  step.update(run({step})[0]);
  using mla::dump::test::checked;
  REQUIRE(step["work_indptr"] == json::array({0, 1, 1, 1}));
  CHECK(checked(step).findings.empty());
  step["work_indptr"] = {0, 1};
  step["buffer_sizes"]["work_indptr"] = {2};
  const auto answer = checked(step);
  REQUIRE(answer.findings.size() == 1);
  CHECK(answer.findings[0].rule == mla::dump::kBufferRule);
  CHECK(answer.findings[0].what ==
        "the planner writes element 3 of work_indptr, which was allocated with 2");
  CHECK(answer.culprit == "the builder");
}
