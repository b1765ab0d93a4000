#include "properties/cli/plan_objects.hpp"

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"
#include "properties/capture/bundle.hpp"
#include "properties/capture/checked_prefill.hpp"
#include "properties/capture/formats.hpp"
#include "properties/capture/planner_call.hpp"
#include "properties/files/parse_json.hpp"
#include "properties/files/terminal.hpp"
#include "properties/show/svg.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;

Result<std::vector<json>> read_bundled(const std::string& path) {
  const auto bundle = read_bundle(path);
  if (!bundle) return bundle.error();
  auto object = document_of(*bundle);
  if (!object) return in_plan_file(object.error(), path, 0);
  return std::vector<json>{std::move(*object)};
}

std::string batch_text(std::int64_t requests, std::int64_t rows, std::int64_t pages,
                       std::int64_t page_size) {
  return show::counted(requests, "request") + ", " + show::counted(rows, "row") + ", " +
         show::counted(pages, "page") + " of " + show::counted(page_size, "token");
}

void add_plan(show::DrawnPlan& out) {
  std::int64_t busy = 0;
  std::int64_t last = -1;
  for (const show::Work& w : out.works) {
    busy += w.slot != last && w.slot >= 0 ? 1 : 0;
    last = w.slot;
  }
  out.facts.emplace_back("plan", show::counted(std::ssize(out.works), "work") + " on " +
                                     show::count(busy) + " of " + show::counted(out.slots, "slot") +
                                     ", " + show::counted(std::ssize(out.tiles), "merge"));
}

// What was decided about a plan of ours.
void add_decisions(const json& decisions, show::DrawnPlan& out) {
  for (const char* key : {"route", "route_reason", "kernel"}) {
    if (!decisions.contains(key) || !decisions[key].is_string()) continue;
    auto value = decisions[key].get<std::string>();
    if (value == name(Route::persistent_rows)) value += ": each query row is planned as a request";
    out.facts.emplace_back(std::string_view(key) == "route_reason" ? "because" : key,
                           std::move(value));
  }
}

// The call, and what was decided.
void add_facts(const json& object, const PlannerCall& call, show::DrawnPlan& out) {
  const plan::PlanInput& in = call.input;
  const auto add = [&out](const char* fact, std::string value) {
    out.facts.emplace_back(fact, std::move(value));
  };
  add("batch", batch_text(in.batch(), in.qo_indptr.back(), in.kv_indptr.back(), in.page_size));
  add("device",
      say(name(in.key.arch), ", ", show::counted(in.key.compute_units.count(), "compute unit")));
  add("dtype", say(name(in.key.dtype.q), " query, ", name(in.key.dtype.kv), " cache"));
  const std::int64_t heads = in.key.heads_per_kv_head.count();
  add("heads", say(heads, " of the kernel",
                   out.fold > 1 ? say(", planned as ", out.fold, " groups of ", heads / out.fold)
                                : std::string()));
  add("mask", in.causal ? "causal" : "none");
  add("planner", in.version == plan::PlannerVersion::v1_2   ? "v1.2"
                 : in.version == plan::PlannerVersion::v1_1 ? "v1.1"
                                                            : "v1.0");
  add("granularity", show::counted(in.kv_granularity, "page") + " a block; " +
                         (in.max_split_per_batch < 0 ? "no split cap"
                                                     : say("split cap ", in.max_split_per_batch)));
  const auto decisions = object.find("decisions");
  if (decisions != object.end() && decisions->is_object()) add_decisions(*decisions, out);
  add_plan(out);
}

// The batch of a prefill step, and how its planner deals it out.
void add_facts(const PrefillCall& call, show::DrawnPlan& out) {
  const plan::PsInput& in = call.input;
  const auto add = [&out](const char* fact, std::string value) {
    out.facts.emplace_back(fact, std::move(value));
  };
  add("step", "prefill");
  add("batch", batch_text(in.batch(), in.qo_indptr.back(), in.kv_indptr.back(), in.block_size));
  add("device", show::counted(in.compute_units.count(), "compute unit"));
  add("heads", say(call.heads.count(), " of the kernel, ", in.qhead_granularity, " a work"));
  add("mask", in.causal ? "causal" : "none");
  add("granularity",
      say(in.qlen_granularity, " rows a tile, ", in.kvlen_granularity, " keys a block"));
  add_plan(out);
}

Result<show::DrawnPlan> draw_prefill(const json& object, std::vector<show::Finding> findings) {
  const auto call = read_prefill_call(object);
  if (!call) return call.error();
  show::DrawnPlan out = show::draw_prefill_plan(
      call->check_input(), ceil_div(call->input.kvlen_granularity, call->input.block_size),
      std::move(findings));
  add_facts(*call, out);
  return out;
}

Result<show::DrawnPlan> draw_decode(const json& object, std::vector<show::Finding> findings) {
  const auto call = read_planner_call(object);
  if (!call) return call.error();
  const auto found = read_plan(object);
  if (!found) return found.error();
  const auto input = plan_check_input(*call, *found);
  if (!input) return input.error();
  show::DrawnPlan out = show::draw_plan(*input,
                                        {.known = call->input.version == plan::PlannerVersion::v1_2,
                                         .granularity = call->input.kv_granularity,
                                         .max_split = call->input.max_split_per_batch},
                                        std::move(findings));
  add_facts(object, *call, out);
  if (object.contains("kv_indices") && object["kv_indices"].is_array())
    for (const json& page : object["kv_indices"])
      if (std::ssize(out.pages) < call->kv_indptr.back() && page.is_number_integer())
        out.pages.push_back(page.get<std::int32_t>());
  return out;
}

}  // namespace

Error in_plan_file(Error error, const std::string& path, std::size_t place) {
  if (error.code != ErrorCode::fault) error.code = ErrorCode::usage;
  error.message = say("'", path, "', plan ", place, ": ", error.message);
  return error;
}

Result<std::vector<json>> read_plan_objects(const std::string& path) {
  if (is_bundle(path)) return read_bundled(path);
  const auto text = files::read_file(path);
  if (!text) return text.error();
  auto document = files::parse_json(*text);
  if (!document) return Error{ErrorCode::usage, "'" + path + "' " + document.error().message, ""};
  const json* list = &*document;
  for (const char* key : {"cases", "steps"}) {
    if (list != &*document || !document->is_object() || !document->contains(key)) continue;
    if (const Status bad = check_list(*document, key))
      return Error{bad->code, "'" + path + "': " + bad->message, ""};
    list = &(*document)[key];
  }
  if (list->is_object()) return std::vector<json>{std::move(*document)};
  if (!list->is_array())
    return Error{
        ErrorCode::usage,
        "'" + path +
            "' is not a plan: expected an object, a list of them, or an object with a list "
            "'cases' or 'steps'",
        ""};
  std::vector<json> objects = list->get<std::vector<json>>();
  for (std::size_t place = 0; place < objects.size(); ++place)
    if (!objects[place].is_object())
      return in_plan_file({ErrorCode::usage, "is not a JSON object", ""}, path, place);
  return objects;
}

Result<show::DrawnPlan> draw_object(const json& object, const PlanAnswer& answer) {
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::unsupported, "there is no plan to draw: " + why, ""};
  };
  if (!answer.not_checked.empty()) return refuse(answer.not_checked);
  for (const PlanFinding& f : answer.findings)
    if (f.rule == kBatchRule) return refuse("the lists of the batch are wrong: " + f.what);
  std::vector<show::Finding> findings;
  for (const PlanFinding& f : answer.findings) findings.push_back({f.rule, f.what, f.work});
  auto drawn = is_prefill(object) ? draw_prefill(object, std::move(findings))
                                  : draw_decode(object, std::move(findings));
  if (!drawn) return drawn.error();
  show::DrawnPlan& out = *drawn;
  out.title = answer.name;
  out.facts.emplace_back("verdict", answer.findings.empty()
                                        ? "valid"
                                        : show::counted(std::ssize(answer.findings), "violation"));
  if (!answer.culprit.empty())
    out.facts.emplace_back("at fault", answer.culprit + ": " + answer.diagnosis);
  for (const std::string& note : answer.notes) out.facts.emplace_back("note", note);
  return drawn;
}

}  // namespace mla::cli
