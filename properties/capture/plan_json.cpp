#include "properties/capture/plan_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/say.hpp"
#include "properties/capture/formats.hpp"
#include "properties/capture/planner_call.hpp"
#include "properties/capture/refused_plan.hpp"
#include "properties/files/json_fields.hpp"
#include "properties/files/parse_json.hpp"

namespace mla::cli {
namespace {

using nlohmann::ordered_json;
using plan::BufferSizes;
using plan::Plan;

struct PrefillCase {
  std::vector<std::int32_t> qo_indptr, kv_indptr, context_lens;
  plan::PsInput input;
};

Error error_of(const files::Fields& fields) {
  return {ErrorCode::usage, fields.error(), ""};
}

Result<PrefillCase> read_prefill(const nlohmann::json& object, const PlanJsonOptions& options) {
  files::Fields fields(object);
  PrefillCase c;
  plan::PsInput& in = c.input;
  in.compute_units = read_compute_units(fields);
  c.qo_indptr = fields.words("seqlens_qo_indptr");
  c.kv_indptr = fields.words("pages_kv_indptr");
  c.context_lens = fields.words("context_lens");
  in.kv_heads = read_heads(fields, "num_heads_k");
  in.qhead_granularity = fields.number_or("qhead_granularity", 1);
  in.qlen_granularity = fields.number_or("qlen_granularity", 256);
  in.kvlen_granularity = fields.number_or("kvlen_granularity", 16);
  in.block_size = fields.number_or("block_size", 16);
  in.causal = fields.truth_or("is_causal", true);
  // The plan depends on neither, but a call without them is none.
  (void)read_arch(fields);
  (void)read_heads(fields, "gqa_ratio");
  fields.reject_unknown(keys_beside_a_call());
  if (!fields.error().empty()) return error_of(fields);
  if (options.as_aiter) in.fidelity = plan::Fidelity::as_aiter;
  return c;
}

ordered_json answer(const std::string& name, const BufferSizes& sizes, const Plan& plan) {
  ordered_json result = {{"name", name}};
  write_plan(result, sizes, plan);
  return result;
}

ordered_json answer(const std::string& name, const Error& error) {
  ordered_json result = {{"name", name}, {"error", error.message}};
  if (!error.bug.empty()) result["bug"] = error.bug;
  return result;
}

ordered_json run_decode(const nlohmann::json& object, const std::string& name,
                        const PlanJsonOptions& options) {
  Result<PlannerCall> call = read_planner_call(object);
  if (!call) return answer(name, call.error());
  if (const Status bad = too_large(*call)) return answer(name, *bad);
  if (options.force_serial) call->input.kernel = plan::V12Kernel::serial;
  if (options.as_aiter) call->input.fidelity = plan::Fidelity::as_aiter;
  const Result<BufferSizes> sizes = plan::query_sizes(call->sizes);
  if (!sizes) return answer(name, sizes.error());
  const Result<Plan> made = plan::make_plan(call->input, *sizes);
  return made ? answer(name, *sizes, *made) : answer(name, made.error());
}

ordered_json run_prefill(const nlohmann::json& object, const std::string& name,
                         const PlanJsonOptions& options) {
  Result<PrefillCase> c = read_prefill(object, options);
  if (!c) return answer(name, c.error());
  c->input.qo_indptr = c->qo_indptr;
  c->input.kv_indptr = c->kv_indptr;
  c->input.context_lens = c->context_lens;
  if (const Status bad = too_large(c->input)) return answer(name, *bad);
  const Result<BufferSizes> sizes = plan::query_ps_sizes(prefill_sizes(c->input));
  if (!sizes) return answer(name, sizes.error());
  const Result<Plan> made = plan::plan_ps_prefill(c->input, *sizes);
  return made ? answer(name, *sizes, *made) : answer(name, made.error());
}

// The answer, or the refusal that takes its place.
ordered_json if_valid(const nlohmann::json& object, ordered_json answered) {
  if (answered.contains("error")) return answered;
  nlohmann::json planned = answered;
  for (const auto& [key, value] : object.items())
    if (!planned.contains(key) && !key.starts_with("launch_")) planned[key] = value;
  const auto found = check_plan_object(planned, 0);
  const Status bad = found ? why_refused(*found) : Status(found.error());
  return bad ? answer(answered["name"].get<std::string>(), *bad) : answered;
}

ordered_json run_case(const nlohmann::json& object, std::size_t place,
                      const PlanJsonOptions& options) {
  const std::string fallback = say("case ", place);
  if (!object.is_object())
    return answer(fallback, {ErrorCode::usage, fallback + " is not a JSON object", ""});
  files::Fields fields(object);
  const std::string name = fields.text("name");
  if (!fields.error().empty()) return answer(fallback, error_of(fields));
  const bool prefill = fields.has("pages_kv_indptr") || fields.has("context_lens");
  ordered_json planned =
      prefill ? run_prefill(object, name, options) : run_decode(object, name, options);
  return options.valid_only ? if_valid(object, std::move(planned)) : planned;
}

}  // namespace

Result<std::string> plan_json(const std::string& document, const PlanJsonOptions& options) {
  const auto parsed = files::parse_json(document);
  if (!parsed) return Error{ErrorCode::usage, "the document " + parsed.error().message, ""};
  const auto cases = parsed->find("cases");
  if (!parsed->is_object() || cases == parsed->end() || !cases->is_array())
    return Error{ErrorCode::usage, "the document is not a JSON object with a list 'cases'", ""};
  if (const Status bad = check_list(*parsed, "cases")) return *bad;
  ordered_json results = ordered_json::array();
  for (const nlohmann::json& object : *cases)
    results.push_back(run_case(object, results.size(), options));
  return ordered_json{{"results", std::move(results)}}.dump(-1, ' ', false,
                                                            ordered_json::error_handler_t::replace);
}

}  // namespace mla::cli
