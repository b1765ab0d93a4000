// AITER's own planner of prefill steps, which runs on the host, against the golden vectors and
// against the core.
#include <nlohmann/json.hpp>
#include <random>

#include "core/plan/plan.hpp"
#include "core/say.hpp"
#include "hip_backend/hip_runtime/runtime.hpp"
#include "planner.hpp"
#include "properties/dump/plan/plan_json.hpp"
#include "tests/catch.hpp"
#include "tests/core/plan/golden.hpp"

namespace {

using aiter_source::PrefillCall;
using nlohmann::json;

std::vector<std::int32_t> buffer(const json& sizes, const char* name) {
  std::size_t size = 1;
  for (const json& extent : sizes.at(name)) size *= extent.get<std::size_t>();
  return std::vector<std::int32_t>(size, mla::plan::kPoison);
}

// What AITER answers, in the form of plan_json's results.
json aiter_answer(const json& c, const json& sizes) {
  mla::hip_runtime::set_device({.units = c.at("num_cu"), .options = {}});
  PrefillCall call{.qo_indptr = c.at("seqlens_qo_indptr"),
                   .kv_indptr = c.at("pages_kv_indptr"),
                   .context_lens = c.at("context_lens"),
                   .metadata_ptrs = std::vector<std::uint64_t>(2),
                   .work_info = buffer(sizes, "work_info_set"),
                   .work_indptr = buffer(sizes, "work_indptr"),
                   .reduce_indptr = buffer(sizes, "reduce_indptr"),
                   .final_map = buffer(sizes, "reduce_final_map"),
                   .partial_map = buffer(sizes, "reduce_partial_map")};
  call.gqa_ratio = c.at("gqa_ratio");
  call.kv_heads = c.at("num_heads_k");
  call.qhead_granularity = c.at("qhead_granularity");
  call.qlen_granularity = c.at("qlen_granularity");
  call.kvlen_granularity = c.at("kvlen_granularity");
  call.block_size = c.at("block_size");
  call.causal = c.at("is_causal");
  const std::string refusal = aiter_source::plan(call);
  json out = {{"name", c.at("name")},
              {"buffer_sizes", sizes},
              {"work_indptr", call.work_indptr},
              {"work_info", call.work_info},
              {"reduce_indptr", call.reduce_indptr},
              {"reduce_final_map", call.final_map},
              {"reduce_partial_map", call.partial_map}};
  if (!refusal.empty()) out["error"] = refusal;
  return out;
}

json random_case(std::mt19937_64& engine, int n) {
  const auto below = [&](int count) {
    return std::uniform_int_distribution<int>(0, count - 1)(engine);
  };
  const int page = below(2) == 0 ? 1 : 16, batch = 1 + below(below(2) == 0 ? 3 : 20);
  const int most_rows = below(2) == 0 ? 40 : 2000, most_context = below(2) == 0 ? 1 : 9000;
  json qo = {0}, kv = {0}, contexts = json::array();
  for (int r = 0; r < batch; ++r) {
    const int rows = 1 + below(most_rows), keys = rows + below(most_context);
    qo.push_back(qo.back().get<int>() + rows);
    kv.push_back(kv.back().get<int>() + (keys + page - 1) / page);
    contexts.push_back(keys);
  }
  const int units[] = {4, 80, 256, 304}, heads[] = {1, 2, 8, 16, 128};
  return {{"name", mla::say("random ", n)},
          {"arch", MLA_ARCH},
          {"num_cu", units[below(4)]},
          {"seqlens_qo_indptr", qo},
          {"pages_kv_indptr", kv},
          {"context_lens", contexts},
          {"gqa_ratio", 1},
          {"num_heads_k", heads[below(5)]},
          {"qhead_granularity", 1},
          {"qlen_granularity", below(2) == 0 ? 256 : 64},
          {"kvlen_granularity", 128},
          {"block_size", page},
          {"is_causal", below(4) != 0}};
}

void check_same(const json& golden, const json& answer) {
  for (const std::string& difference : mla::golden::differences(golden, answer, "expected"))
    FAIL_CHECK(golden["name"] << ": " << difference);
}

}  // namespace

TEST_CASE("AITER's own prefill planner, from its sources, writes every golden plan") {
  const json document = mla::golden::load("ps_prefill");
  std::size_t compared = 0;
  for (const json& golden : document["cases"]) {
    if (!golden["expected"].is_object()) continue;
    check_same(golden, aiter_answer(golden, golden["buffer_sizes"]));
    ++compared;
  }
  REQUIRE(compared >= 20);
}

TEST_CASE("AITER's own prefill planner and the core plan the same for 600 random batches") {
  std::mt19937_64 engine{1};
  json cases = json::array();
  for (int n = 0; n < 600; ++n) cases.push_back(random_case(engine, n));
  const auto text = mla::dump::plan_json(json{{"cases", cases}}.dump(), {.as_aiter = true});
  REQUIRE(text.ok());
  const json results = json::parse(*text)["results"];
  for (std::size_t n = 0; n < cases.size(); ++n) {
    INFO(cases[n].dump());
    REQUIRE(results[n].contains("buffer_sizes"));
    REQUIRE_FALSE(results[n].contains("error"));
    const json& sizes = results[n]["buffer_sizes"];
    check_same({{"name", cases[n]["name"]}, {"buffer_sizes", sizes}, {"expected", results[n]}},
               aiter_answer(cases[n], sizes));
  }
}
