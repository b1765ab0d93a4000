#include "properties/app/draw_dump.hpp"

#include <string>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"
#include "properties/app/step_time.hpp"
#include "properties/show/svg.hpp"

namespace mla::app {
namespace {

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

// The call, and what was decided.
void add_facts(const dump::DecodeDump& dump, show::DrawnPlan& out) {
  const plan::PlanInput& in = dump.planned.call.input;
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
  if (const RowWidths& widths = dump.planned.cache.widths; widths != kBuiltIn)
    add("rows of the cache", text_of(widths));
  add("mask", in.causal ? "causal" : "none");
  add("planner", in.version == plan::PlannerVersion::v1_2   ? "v1.2"
                 : in.version == plan::PlannerVersion::v1_1 ? "v1.1"
                                                            : "v1.0");
  add("granularity", show::counted(in.kv_granularity, "page") + " a block; " +
                         (in.max_split_per_batch < 0 ? "no split cap"
                                                     : say("split cap ", in.max_split_per_batch)));
  for (const auto& [key, value] : dump.decisions)
    add(key == "route_reason" ? "because" : key.c_str(),
        value == name(Route::persistent_rows) ? value + ": each query row is planned as a request"
                                              : value);
  add_plan(out);
}

// The batch of a prefill step, and how its planner deals it out.
void add_facts(const dump::PrefillCall& call, show::DrawnPlan& out) {
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

Result<show::DrawnPlan> draw(const dump::PrefillDump& dump, std::vector<show::Finding> findings) {
  const dump::PrefillPlan& planned = *dump.planned;
  const plan::PsInput& in = planned.call.input;
  show::DrawnPlan out = show::draw_prefill_plan(
      planned.check_input(), ceil_div(in.kvlen_granularity, in.block_size), std::move(findings));
  add_facts(planned.call, out);
  return out;
}

Result<show::DrawnPlan> draw(const dump::DecodeDump& dump, std::vector<show::Finding> findings) {
  const dump::PlannerCall& call = dump.planned.call;
  const auto& plan = dump.planned.plan;
  if (!*plan) return plan->error();
  const auto input = dump::plan_check_input(call, **plan);
  if (!input) return input.error();
  const plan::PlanInput& in = call.input;
  show::DrawnPlan out = show::draw_plan(*input,
                                        {.known = in.version == plan::PlannerVersion::v1_2,
                                         .granularity = in.kv_granularity,
                                         .max_split = in.max_split_per_batch},
                                        std::move(findings));
  add_facts(dump, out);
  if (dump.planned.cache.kv_indices)
    for (const std::int32_t page : *dump.planned.cache.kv_indices)
      if (std::ssize(out.pages) < in.kv_indptr.back()) out.pages.push_back(page);
  return out;
}

Result<show::DrawnPlan> draw(const dump::FaDump& /*dump*/, std::vector<show::Finding> /*found*/) {
  return Error{ErrorCode::unsupported, "there is no plan to draw: an FA step has none"};
}

}  // namespace

Result<show::DrawnPlan> draw_dump(const dump::Dump& dump, const dump::Answer& answer) {
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::unsupported, "there is no plan to draw: " + why};
  };
  if (!answer.not_checked.empty()) return refuse(answer.not_checked);
  for (const dump::Finding& f : answer.findings)
    if (f.rule == dump::kBatchRule) return refuse("the lists of the batch are wrong: " + f.what);
  std::vector<show::Finding> findings;
  for (const dump::Finding& f : answer.findings) findings.push_back({f.rule, f.what, f.work});
  auto drawn = std::visit([&](const auto& step) { return draw(step, findings); }, dump.step);
  if (!drawn) return drawn.error();
  show::DrawnPlan& out = *drawn;
  out.title = answer.name;
  if (const auto timed = timed_step(dump, answer)) {
    out.predicted = time_line(*timed);
    out.facts.emplace_back("predicted", out.predicted);
  }
  out.facts.emplace_back("verdict", answer.findings.empty()
                                        ? "valid"
                                        : show::counted(std::ssize(answer.findings), "violation"));
  if (!answer.where.empty()) out.facts.emplace_back("wrong", answer.where);
  if (!answer.culprit.empty())
    out.facts.emplace_back("at fault", answer.culprit + ": " + answer.diagnosis);
  for (const std::string& note : answer.notes) out.facts.emplace_back("note", note);
  return drawn;
}

}  // namespace mla::app
