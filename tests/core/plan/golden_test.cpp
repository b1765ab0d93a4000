// Claims about the planners against AITER's own answers.
#include <nlohmann/json.hpp>

#include "core/io/checksum.hpp"
#include "core/plan/planner.hpp"
#include "core/shape/plan_shape.hpp"
#include "properties/dump/plan/plan_json.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/golden.hpp"

namespace {

using mla::dump::PlanJsonOptions;
using nlohmann::json;

json answers(const json& document, const PlanJsonOptions& options) {
  const auto text = mla::dump::plan_json(document.dump(), options);
  REQUIRE(text.ok());
  return json::parse(*text)["results"];
}

// AITER gives the last page a work of its own, of which one row sees nothing; a safe plan does not.
bool hides_keys(const json& golden) {
  return golden["name"] == "page64_q2_cu256" || golden["name"] == "page64_q2_cu304";
}

// Cases compared; every difference is a failure of its own.
std::size_t check_file(const std::string& name, const PlanJsonOptions& options) {
  const json document = mla::golden::load(name);
  const json results = answers(document, options);
  REQUIRE(results.size() == document["cases"].size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const json& golden = document["cases"][i];
    const bool serial = options.force_serial && golden.contains("expected_serial");
    const auto differences =
        mla::golden::differences(golden, results[i], serial ? "expected_serial" : "expected");
    if (!options.as_aiter && hides_keys(golden)) {
      CHECK_FALSE(differences.empty());
      continue;
    }
    for (const std::string& difference : differences)
      FAIL_CHECK(name << " " << golden["name"] << ": " << difference);
  }
  return results.size();
}

std::size_t check_all(const PlanJsonOptions& options) {
  std::size_t cases = 0;
  for (const std::string& name : mla::golden::kFiles) cases += check_file(name, options);
  return cases;
}

// The sums of the five lists of an answer; null is kPoison.
json sums_of(const json& result) {
  json sums = json::array();
  for (const char* list :
       {"work_indptr", "work_info", "reduce_indptr", "reduce_final_map", "reduce_partial_map"}) {
    std::vector<std::int32_t> words;
    for (const json& word : result.at(list))
      words.push_back(word.is_null() ? mla::plan::kPoison : word.get<std::int32_t>());
    sums.push_back(mla::io::hex64(mla::io::fnv1a64(std::as_bytes(std::span(words)))));
  }
  return sums;
}

mla::PlanKey key_of(const json& golden) {
  const auto dtype = [&](const char* key) {
    return *mla::dtype_from_name(golden[key].get<std::string>());
  };
  return {.arch = *mla::arch_from_name(golden["arch"].get<std::string>()),
          .compute_units = mla::ComputeUnits(golden["num_cu"].get<std::int64_t>()),
          .heads_per_kv_head = mla::Heads(golden["num_heads_per_head_k"].get<std::int64_t>()),
          .kv_heads = mla::Heads(golden["num_heads_k"].get<std::int64_t>()),
          .dtype = {dtype("dtype_q"), dtype("dtype_kv")},
          .max_qo_len = golden["max_seqlen_qo"].get<std::int64_t>()};
}

}  // namespace

TEST_CASE("planners: safe plans equal AITER's in all golden cases but two that hide keys",
          "[plan][P05][BUG-012]") {
  CHECK(check_all({}) == 240);
}

TEST_CASE("planners: plans as AITER makes them equal AITER's in all golden cases", "[plan][P05]") {
  CHECK(check_all({.as_aiter = true}) == 240);
}

TEST_CASE("planners: the serial kernel of v1.2 gives AITER's serial answer", "[plan][BUG-074]") {
  CHECK(check_all({.force_serial = true}) == 240);
  CHECK(check_all({.force_serial = true, .as_aiter = true}) == 240);
}

TEST_CASE("planners: the golden cases tell the two kernels of v1.2 apart", "[plan][BUG-074]") {
  const json document = mla::golden::load("v12_h16_q1");
  const json serial = answers(document, {.force_serial = true});
  std::size_t told_apart = 0;
  for (std::size_t i = 0; i < serial.size(); ++i)
    if (document["cases"][i].contains("expected_serial"))
      told_apart += !mla::golden::differences(document["cases"][i], serial[i], "expected").empty();
  CHECK(told_apart == 8);
}

TEST_CASE("planners: 577 random calls are answered as AITER's planners answer them", "[plan]") {
  json by_kernel[2];
  const json document = mla::golden::load("random");
  for (const json& c : document["cases"])
    by_kernel[c.contains("serial") ? 1 : 0]["cases"].push_back(c);
  std::size_t compared = 0;
  for (const bool serial : {false, true}) {
    const json& cases = by_kernel[serial ? 1 : 0]["cases"];
    const json results =
        answers(by_kernel[serial ? 1 : 0], {.force_serial = serial, .as_aiter = true});
    REQUIRE(results.size() == cases.size());
    for (std::size_t i = 0; i < results.size(); ++i, ++compared) {
      INFO(cases[i].dump());
      REQUIRE_FALSE(results[i].contains("error"));
      CHECK(sums_of(results[i]) == cases[i]["sums"]);
    }
  }
  CHECK(compared == 577);
}

TEST_CASE("planners: one changed golden element is found", "[plan]") {
  json document = mla::golden::load("v12_multitoken");
  const json results = answers(document, {});
  json& golden = document["cases"][3];
  REQUIRE(mla::golden::differences(golden, results[3], "expected").empty());
  for (const char* key : {"work_indptr", "work_info", "reduce_indptr", "reduce_partial_map"}) {
    INFO(key);
    json& element = golden["expected"][key][1];
    const json kept = element;
    element = kept.is_null() ? json(7) : json(kept.get<int>() + 1);
    CHECK(mla::golden::differences(golden, results[3], "expected").size() == 1);
    element = nullptr;
    CHECK(mla::golden::differences(golden, results[3], "expected").size() == 1);
    element = kept;
  }
  golden["buffer_sizes"]["work_indptr"][0] = 82;
  CHECK(mla::golden::differences(golden, results[3], "expected").size() == 1);
}

TEST_CASE("plan shape: decisions equal AITER's in all v1.2 golden cases", "[plan][shape][P07]") {
  std::size_t decided = 0;
  for (const char* name : {"v12_h16_q1", "v12_heads", "v12_multitoken", "v12_paging_splits"}) {
    const json document = mla::golden::load(name);
    for (const json& golden : document["cases"]) {
      if (!golden.contains("derived")) continue;
      INFO(golden["name"]);
      const mla::PlanKey key = key_of(golden);
      const auto shape = mla::resolve_plan_shape(key);
      REQUIRE(shape.ok());
      const json& derived = golden["derived"];
      CHECK(derived["natively_supported"] == shape->native);
      CHECK(derived["qk_batch_ratio"] == shape->fold_ratio);
      CHECK(derived["folded_heads"] == shape->plan_heads.count());
      CHECK(derived["packed_qo_len_per_wg"] == shape->rows_per_workgroup);
      CHECK(derived["qo_splits"] == shape->query_split);
      CHECK(derived["num_clusters"] == shape->slots.count());
      const auto kv = golden["seqlens_kv_indptr"].get<std::vector<std::int32_t>>();
      mla::plan::PlanInput input{.key = key, .kv_indptr = kv};
      input.uniform_qo_len = golden["uni_seqlen_qo"];
      input.topk = golden["topk"];
      input.page_size = golden["page_size"];
      const bool parallel =
          mla::plan::choose_v12_kernel(input, *shape) == mla::plan::V12Kernel::parallel;
      CHECK(golden["kernel_default"] == (parallel ? "parallel" : "serial"));
      ++decided;
    }
  }
  CHECK(decided == 178);
}
