// `mla-testbed show`: a plan as a page of pictures, one picture, or a trace.
#include <memory>

#include "core/say.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/shown_plan.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/printable.hpp"
#include "properties/show/comparison.hpp"
#include "properties/show/document.hpp"
#include "properties/show/svg.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct ShowOptions {
  std::string what;
  std::string step;  // empty: the first
  std::string html;
  std::string svg;
  std::string trace;
  std::string against;  // empty: one plan
  bool json = false;
};

constexpr const char* kShowFooter = R"(
Draws the plan of a case, a bundle, or a JSON file as `check` reads it. The page has the requests
with their cuts, the works of each slot, the merges, the causal mask, the balance, the pages and the
buffers; a work under the pointer shows its record. The file needs nothing else, no network either.
Works that check complains about are outlined in red. Large plans are drawn in part or together,
and the page says so. Without an option the page is written to plan.html.
--trace writes Trace Event JSON for ui.perfetto.dev: a track for each slot, one microsecond for each
block of keys.
--against compares with a second plan, which is named as the first: which works, cuts and merges
differ, and what that costs in blocks of the busiest slot and in bytes of the reduce. The table goes
to stdout, or as JSON with --json; --html writes a page with both plans.
Exit: 0 it is drawn, 10 there is no plan to draw.

Examples:
  mla-testbed show 'mla1:2q4s900_1q1s513;heads=8;block=16;cu=4'
  mla-testbed show fixtures/bundles/word --html word.html
  mla-testbed show 'mla1:16q1s8k;heads=16' --svg plan.svg --trace plan.json
  mla-testbed show dump.json --against 'mla1:16q1s8k;heads=16' --html compared.html)";

Result<app::ShownPlans> plans_of(const std::string& what) {
  if (!what.starts_with("mla1")) return app::plans_of_file(what);
  const auto c = parse_case(what);
  if (!c) return c.error();
  if (const MaybeError bad = app::check_list_memory(*c)) return *bad;
  return app::plans_of_case(*c, what);
}

Result<show::ComparedPlan> read_drawn(const std::string& what, const std::string& step) {
  const auto plans = plans_of(what);
  if (!plans) return plans.error();
  const std::int64_t count = plans->count();
  std::int64_t wanted = 0;
  if (!step.empty()) {
    const auto number = parse_count("--step", step);
    if (!number) return number.error();
    wanted = *number;
  }
  if (wanted >= count)
    return Error{ErrorCode::usage, say("--step is ", wanted, " of ", show::counted(count, "plan"),
                                       ", counted from 0")};
  auto shown = app::shown_plan(*plans, static_cast<std::size_t>(wanted));
  if (!shown) return shown.error();
  if (shown->plan && count > 1)
    shown->plan->plan.facts.emplace_back(
        "step", say(wanted, " of ", count, ", counted from 0; --step shows another"));
  return std::move(shown->plan);
}

ExitCode show_comparison(const ShowOptions& o) {
  if (!o.svg.empty() || !o.trace.empty())
    return refuse("show", "--svg and --trace show one plan: leave them out with --against");
  // Without --json a page on stdout takes the place of the text.
  const bool page_alone = o.html == "-" && !o.json;
  const files::Output told = page_alone ? files::Output{} : files::printed(o.json);
  if (const MaybeError bad = files::check_outputs({told, {"--html", o.html}},
                                                  {{"show", o.what}, {"--against", o.against}}))
    return complain("show", *bad);
  auto first = read_drawn(o.what, o.step);
  if (!first) return complain("show", first.error());
  auto second = read_drawn(o.against, o.step);
  if (!second) return complain("show", second.error());
  if (first->plan.work_heads > 0 || second->plan.work_heads > 0)
    return complain("show", {ErrorCode::unsupported,
                             "--against compares plans of decode steps, and one of these is of a "
                             "prefill step"});
  const show::Comparison c = show::compare(*first, *second);
  Publisher out("show");
  out.page(o.html, [&] { return comparison_page(c, first->plan, second->plan); });
  if (page_alone) return out.finish("", ExitCode::held);
  if (o.json) return out.finish(comparison_json(c, first->plan, second->plan), ExitCode::held);
  for (show::ComparedPlan* p : {&*first, &*second}) p->plan.title = files::printable(p->plan.title);
  return out.finish(comparison_text(c, first->plan, second->plan), ExitCode::held);
}

ExitCode show_plan(const ShowOptions& o) {
  if (o.json) return refuse("show", "--json needs --against; `plan --json` has one plan");
  std::string html = o.html;
  if (html.empty() && o.svg.empty() && o.trace.empty()) html = "plan.html";
  if (const MaybeError bad = files::check_outputs(
          {{"--html", html}, {"--svg", o.svg}, {"--trace", o.trace}}, {{"show", o.what}}))
    return complain("show", *bad);
  const auto read = read_drawn(o.what, o.step);
  if (!read) return complain("show", read.error());
  const show::DrawnPlan* drawn = &read->plan;
  Publisher out("show");
  out.page(html, [&] { return show::plan_page(*drawn); });
  out.file(o.svg, [&] { return show::plan_svg(*drawn); });
  out.file(o.trace, [&] { return show::plan_trace(*drawn); });
  return out.finish("", ExitCode::held);
}

}  // namespace

void add_show(Command& app, ExitCode& exit) {
  auto o = std::make_shared<ShowOptions>();
  Command c = app.add_subcommand("show", "Draw the plan of a case or of a bundle");
  c.add_option("plan", o->what,
               "The case, one line (docs/reference/cases.md), a bundle or a JSON file")
      .required();
  c.add_option("--html", o->html, "Write the page to this file; - is stdout").type_name("FILE");
  c.add_option("--svg", o->svg, "Write one picture to this file; - is stdout").type_name("FILE");
  c.add_option("--trace", o->trace, "Write a trace for Perfetto to this file; - is stdout")
      .type_name("FILE");
  c.add_option("--step", o->step, "Which plan of several, counted from 0").type_name("N");
  c.add_option("--against", o->against, "Compare with the plan of this case, bundle or JSON file")
      .type_name("PLAN");
  c.add_flag("--json", o->json, "With --against: print one JSON object");
  c.footer(kShowFooter);
  c.callback([o, &exit] { exit = o->against.empty() ? show_plan(*o) : show_comparison(*o); });
}

}  // namespace mla::cli
