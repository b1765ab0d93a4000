#include "properties/dump/plan/plan_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/say.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/read/formats.hpp"
#include "properties/dump/read/parts.hpp"
#include "properties/dump/write/plan.hpp"
#include "properties/files/json_fields.hpp"
#include "properties/files/parse_json.hpp"

namespace mla::dump {
namespace {

using nlohmann::ordered_json;
using plan::BufferSizes;
using plan::Plan;

Error error_of(const files::Fields& fields) {
  return {ErrorCode::usage, fields.error()};
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
  if (const MaybeError bad = too_large(*call)) return answer(name, *bad);
  if (options.force_serial) call->input.kernel = plan::V12Kernel::serial;
  if (options.as_aiter) call->input.fidelity = plan::Fidelity::as_aiter;
  const Result<BufferSizes> sizes = plan::query_sizes(call->sizes());
  if (!sizes) return answer(name, sizes.error());
  const Result<Plan> made = plan::make_plan(call->input, *sizes);
  return made ? answer(name, *sizes, *made) : answer(name, made.error());
}

ordered_json run_prefill(const nlohmann::json& object, const std::string& name,
                         const PlanJsonOptions& options) {
  Result<PrefillCall> call = read_prefill_call(object);
  if (!call) return answer(name, call.error());
  if (options.as_aiter) call->input.fidelity = plan::Fidelity::as_aiter;
  if (const MaybeError bad = too_large(*call)) return answer(name, *bad);
  const Result<BufferSizes> sizes = plan::query_ps_sizes(call->sizes());
  if (!sizes) return answer(name, sizes.error());
  const Result<Plan> made = plan::plan_ps_prefill(call->input, *sizes);
  return made ? answer(name, *sizes, *made) : answer(name, made.error());
}

// The answer, or the refusal that takes its place.
ordered_json if_valid(const nlohmann::json& object, ordered_json answered) {
  if (answered.contains("error")) return answered;
  nlohmann::json planned = answered;
  for (const auto& [key, value] : object.items())
    if (!planned.contains(key) && (!key.starts_with("launch_") || key == "launch_causal"))
      planned[key] = value;
  const auto dump = read_dump(planned, 0);
  const auto found = dump ? check(*dump) : Result<Answer>(dump.error());
  const MaybeError bad = found ? why_refused(*found) : MaybeError(found.error());
  return bad ? answer(answered["name"].get<std::string>(), *bad) : answered;
}

ordered_json run_case(const nlohmann::json& object, std::size_t place,
                      const PlanJsonOptions& options) {
  const std::string fallback = say("case ", place);
  if (!object.is_object())
    return answer(fallback, {ErrorCode::usage, fallback + " is not a JSON object"});
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
  if (!parsed) return Error{ErrorCode::usage, "the document " + parsed.error().message};
  const auto cases = parsed->find("cases");
  if (!parsed->is_object() || cases == parsed->end() || !cases->is_array())
    return Error{ErrorCode::usage, "the document is not a JSON object with a list 'cases'"};
  if (const MaybeError bad = check_list(*parsed, "cases")) return *bad;
  ordered_json results = ordered_json::array();
  for (const nlohmann::json& object : *cases)
    results.push_back(run_case(object, results.size(), options));
  return ordered_json{{"results", std::move(results)}}.dump(-1, ' ', false,
                                                            ordered_json::error_handler_t::replace);
}

}  // namespace mla::dump
