#include "properties/cli/plan_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/plan/planner.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "properties/cli/json_fields.hpp"

namespace mla::cli {
namespace {

using nlohmann::ordered_json;
using plan::BufferSizes;
using plan::Plan;
using plan::PlanBuffer;
using plan::PlannerVersion;

// A case as read: the lists that the planner's spans point into live beside it.
struct DecodeCase {
  std::vector<std::int32_t> qo_indptr, kv_indptr, last_page_len;
  plan::PlanInput input;
  plan::SizeQuery sizes;
};

struct PrefillCase {
  std::vector<std::int32_t> qo_indptr, kv_indptr, context_lens;
  plan::PsInput input;
  plan::PsSizeQuery sizes;
};

Error error_of(const Fields& fields) {
  return {ErrorCode::usage, fields.error(), ""};
}

Arch read_arch(Fields& fields) {
  const std::string text = fields.text("arch");
  const std::optional<Arch> arch = arch_from_name(text);
  if (!arch) fields.reject("arch", "is '" + text + "': it must be gfx942 or gfx950");
  return arch.value_or(Arch::gfx942);
}

Dtype read_dtype(Fields& fields, const char* key) {
  const std::string text = fields.text_or(key, "bf16");
  const std::optional<Dtype> dtype = dtype_from_name(text);
  if (!dtype) fields.reject(key, "is '" + text + "': it must be bf16 or fp8");
  return dtype.value_or(Dtype::bf16);
}

std::int64_t longest(const std::vector<std::int32_t>& indptr) {
  std::int64_t rows = 1;
  for (std::size_t i = 1; i < indptr.size(); ++i)
    rows = std::max<std::int64_t>(rows, std::int64_t{indptr[i]} - indptr[i - 1]);
  return rows;
}

PlannerVersion read_version(Fields& fields) {
  const bool fast = fields.truth_or("fast_mode", true);
  const bool intra_batch = fields.truth_or("intra_batch_mode", false);
  if (fast) return PlannerVersion::v1_2;
  return intra_batch ? PlannerVersion::v1_0 : PlannerVersion::v1_1;
}

// Buffers are asked for with the longest query there can be: with max_seqlen_qo, or the real one
// where the planner is told 1 because every row is a request (sparse), or nothing (-1). v1.0 gets
// as many places a request as it may split it.
plan::SizeQuery size_query(const DecodeCase& c, std::int64_t num_kv_splits) {
  const plan::PlanInput& in = c.input;
  const bool sparse = in.topk >= 0;
  const std::int64_t real =
      in.uniform_qo_len > 0 && !sparse ? in.uniform_qo_len : longest(c.qo_indptr);
  const std::int64_t splits = in.max_split_per_batch > 0 ? in.max_split_per_batch : 32;
  return {.arch = in.key.arch,
          .compute_units = in.key.compute_units,
          .batch = Requests(std::max<std::int64_t>(in.batch(), 0)),
          .max_qo_len = in.key.max_qo_len > 0 && !sparse ? in.key.max_qo_len : real,
          .heads = in.key.heads_per_kv_head * in.key.kv_heads.count(),
          .dtype = in.key.dtype,
          .sparse = sparse,
          .fast_mode = in.version == PlannerVersion::v1_2,
          .num_kv_splits = num_kv_splits > 0 ? num_kv_splits : splits,
          .intra_batch_mode = in.version == PlannerVersion::v1_0};
}

Result<DecodeCase> read_decode(const nlohmann::json& object, const PlanJsonOptions& options) {
  Fields fields(object);
  DecodeCase c;
  plan::PlanInput& in = c.input;
  in.key.arch = read_arch(fields);
  in.key.compute_units = ComputeUnits(fields.number("num_cu"));
  c.qo_indptr = fields.words("seqlens_qo_indptr");
  c.kv_indptr = fields.words("seqlens_kv_indptr");
  c.last_page_len = fields.words("kv_last_page_lens");
  in.key.heads_per_kv_head = Heads(fields.number("num_heads_per_head_k"));
  in.key.kv_heads = Heads(fields.number("num_heads_k"));
  in.causal = fields.truth("is_causal");
  in.page_size = fields.number_or("page_size", 1);
  in.kv_granularity = fields.number_or("kv_granularity", 16);
  in.key.max_qo_len = fields.number_or("max_seqlen_qo", -1);
  in.uniform_qo_len = fields.number_or("uni_seqlen_qo", -1);
  in.topk = fields.number_or("topk", -1);
  in.max_split_per_batch = fields.number_or("max_split_per_batch", -1);
  in.cp_round_robin = fields.truth_or("is_cp_round_robin", false);
  in.key.dtype = {read_dtype(fields, "dtype_q"), read_dtype(fields, "dtype_kv")};
  in.version = read_version(fields);
  const std::int64_t num_kv_splits = fields.number_or("num_kv_splits", 0);
  if (!fields.error().empty()) return error_of(fields);
  if (options.force_serial) in.kernel = plan::V12Kernel::serial;
  if (options.as_aiter) in.fidelity = plan::Fidelity::as_aiter;
  in.kv_indptr = c.kv_indptr;
  c.sizes = size_query(c, num_kv_splits);
  return c;
}

Result<PrefillCase> read_prefill(const nlohmann::json& object, const PlanJsonOptions& options) {
  Fields fields(object);
  PrefillCase c;
  plan::PsInput& in = c.input;
  in.compute_units = ComputeUnits(fields.number("num_cu"));
  c.qo_indptr = fields.words("seqlens_qo_indptr");
  c.kv_indptr = fields.words("pages_kv_indptr");
  c.context_lens = fields.words("context_lens");
  in.kv_heads = Heads(fields.number("num_heads_k"));
  in.qhead_granularity = fields.number_or("qhead_granularity", 1);
  in.qlen_granularity = fields.number_or("qlen_granularity", 256);
  in.kvlen_granularity = fields.number_or("kvlen_granularity", 16);
  in.block_size = fields.number_or("block_size", 16);
  in.causal = fields.truth_or("is_causal", true);
  // The plan depends on neither, but a call without them is none.
  (void)read_arch(fields);
  (void)fields.number("gqa_ratio");
  if (!fields.error().empty()) return error_of(fields);
  if (options.as_aiter) in.fidelity = plan::Fidelity::as_aiter;
  c.sizes = {.compute_units = in.compute_units,
             .batch = Requests(
                 std::max<std::int64_t>(static_cast<std::int64_t>(c.qo_indptr.size()) - 1, 0)),
             .kv_heads = in.kv_heads,
             .max_qo_len = longest(c.qo_indptr),
             .qlen_granularity = in.qlen_granularity};
  return c;
}

ordered_json shapes(const BufferSizes& sizes) {
  return {{"work_metadata_ptrs", {sizes.work_meta_data}},
          {"work_indptr", {sizes.work_indptr}},
          {"work_info_set", {sizes.work_items, plan::kWorkItemWords}},
          {"reduce_indptr", {sizes.reduce_indptr}},
          {"reduce_final_map", {sizes.reduce_final_rows, 2}},
          {"reduce_partial_map", {sizes.reduce_partial_map}}};
}

ordered_json elements(const PlanBuffer& buffer) {
  ordered_json list = ordered_json::array();
  for (std::int64_t i = 0; i < buffer.used(); ++i)
    list.push_back(buffer.written(i) ? ordered_json(buffer.at(i)) : ordered_json(nullptr));
  return list;
}

ordered_json overruns(const Plan& plan) {
  ordered_json all = ordered_json::object();
  for (const PlanBuffer* buffer : {&plan.work_indptr, &plan.work_info, &plan.reduce_indptr,
                                   &plan.reduce_final_map, &plan.reduce_partial_map})
    for (const auto& [index, value] : buffer->overruns())
      all[buffer->name()].push_back(ordered_json::array({index, value}));
  return all;
}

ordered_json answer(const std::string& name, const BufferSizes& sizes, const Plan& plan) {
  ordered_json result = {{"name", name},
                         {"buffer_sizes", shapes(sizes)},
                         {"work_indptr", elements(plan.work_indptr)},
                         {"work_info", elements(plan.work_info)},
                         {"reduce_indptr", elements(plan.reduce_indptr)},
                         {"reduce_final_map", elements(plan.reduce_final_map)},
                         {"reduce_partial_map", elements(plan.reduce_partial_map)}};
  if (plan.overran()) result["overruns"] = overruns(plan);
  return result;
}

ordered_json answer(const std::string& name, const Error& error) {
  ordered_json result = {{"name", name}, {"error", error.message}};
  if (!error.bug.empty()) result["bug"] = error.bug;
  return result;
}

ordered_json run_decode(const nlohmann::json& object, const std::string& name,
                        const PlanJsonOptions& options) {
  Result<DecodeCase> c = read_decode(object, options);
  if (!c) return answer(name, c.error());
  c->input.qo_indptr = c->qo_indptr;
  c->input.kv_indptr = c->kv_indptr;
  c->input.last_page_len = c->last_page_len;
  const Result<BufferSizes> sizes = plan::query_sizes(c->sizes);
  if (!sizes) return answer(name, sizes.error());
  const Result<Plan> made = plan::make_plan(c->input, *sizes);
  return made ? answer(name, *sizes, *made) : answer(name, made.error());
}

ordered_json run_prefill(const nlohmann::json& object, const std::string& name,
                         const PlanJsonOptions& options) {
  Result<PrefillCase> c = read_prefill(object, options);
  if (!c) return answer(name, c.error());
  c->input.qo_indptr = c->qo_indptr;
  c->input.kv_indptr = c->kv_indptr;
  c->input.context_lens = c->context_lens;
  const Result<BufferSizes> sizes = plan::query_ps_sizes(c->sizes);
  if (!sizes) return answer(name, sizes.error());
  const Result<Plan> made = plan::plan_ps_prefill(c->input, *sizes);
  return made ? answer(name, *sizes, *made) : answer(name, made.error());
}

ordered_json run_case(const nlohmann::json& object, std::size_t place,
                      const PlanJsonOptions& options) {
  const std::string fallback = "case " + std::to_string(place);
  if (!object.is_object())
    return answer(fallback, {ErrorCode::usage, fallback + " is no JSON object", ""});
  Fields fields(object);
  const std::string name = fields.text("name");
  if (!fields.error().empty()) return answer(fallback, error_of(fields));
  const bool prefill = fields.has("pages_kv_indptr") || fields.has("context_lens");
  return prefill ? run_prefill(object, name, options) : run_decode(object, name, options);
}

}  // namespace

Result<std::string> plan_json(const std::string& document, const PlanJsonOptions& options) {
  const auto parsed = nlohmann::json::parse(document, nullptr, false);
  if (parsed.is_discarded())
    return Error{ErrorCode::usage,
                 "the document of " + std::to_string(document.size()) + " bytes is no JSON", ""};
  if (!parsed.is_object() || !parsed.contains("cases") || !parsed["cases"].is_array())
    return Error{ErrorCode::usage, "the document is no JSON object with a list 'cases'", ""};
  ordered_json results = ordered_json::array();
  for (const nlohmann::json& object : parsed["cases"])
    results.push_back(run_case(object, results.size(), options));
  return ordered_json{{"results", std::move(results)}}.dump(-1, ' ', false,
                                                            ordered_json::error_handler_t::replace);
}

}  // namespace mla::cli
