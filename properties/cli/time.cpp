// `mla-testbed time`: the predicted time of a decode step, and where it goes.
#include <memory>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/step_time.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct TimeOptions {
  std::string line;
  std::string against;  // empty: nothing to compare with
  bool json = false;
  bool this_only = false;
};

constexpr const char* kTimeFooter = R"(
Prints how long the step takes as predicted from published times, split into stage 1, imbalance,
reduce and launch; beside it the roofline, the bound that no plan is below, the step without its
plan, and the best of several numbers of splits. No time is measured. docs/use/time.md says how far
a prediction may be trusted. Outside of the fitted range nothing is predicted and the exit code is
10, as for a case that is refused. --against names a second case and shows which term changed.

Examples:
  mla-testbed time 'mla1:64q1s8k;heads=64;arch=gfx950;dtype=fp8/fp8'
  mla-testbed time 'mla1:32q1s8k;arch=gfx950;planner=none;splits=9' --json
  mla-testbed time 'mla1:1q1s16k;arch=gfx950;dtype=fp8/fp8' \
    --against 'mla1:1q1s16k;arch=gfx950;dtype=fp8/fp8;split=38')";

Result<app::StepTime> time_of_line(const std::string& line, bool others) {
  const auto c = parse_case(line);
  if (!c) return c.error();
  if (const MaybeError bad = app::check_list_memory(*c)) return *bad;
  return app::time_step(*c, others);
}

ExitCode time_against(const TimeOptions& o, const app::StepTime& now) {
  const auto before = time_of_line(o.against, false);
  if (!before) return complain("time", before.error());
  for (const app::StepTime* one : {&now, &*before})
    if (!one->step.predicted)
      return complain("time",
                      Error{ErrorCode::unsupported, say("'", format_case(one->step.spec), "' is ",
                                                        one->step.predicted.error().message)});
  return finish("time",
                o.json ? app::time_against_json(now, *before).dump(1) + "\n"
                       : app::time_against_text(now, *before),
                ExitCode::held);
}

ExitCode time(const TimeOptions& o) {
  if (o.this_only && !o.against.empty())
    return refuse("time",
                  "--this-only is without effect beside --against, which tries nothing else");
  const auto now = time_of_line(o.line, o.against.empty() && !o.this_only);
  if (!now) return complain("time", now.error());
  if (!o.against.empty()) return time_against(o, *now);
  return finish("time", o.json ? app::time_json(*now).dump(1) + "\n" : app::time_text(*now),
                now->step.predicted ? ExitCode::held : ExitCode::skipped);
}

}  // namespace

void add_time(Command& app, ExitCode& exit) {
  auto o = std::make_shared<TimeOptions>();
  Command c = app.add_subcommand("time", "Predict how long a decode step takes");
  c.add_option("case", o->line, "The case, one line (docs/reference/cases.md)").required();
  c.add_option("--against", o->against, "Compare with this case, term by term").type_name("CASE");
  c.add_flag("--json", o->json, "Print the prediction, and what the model read, as JSON");
  c.add_flag("--this-only", o->this_only, "Try no other number of splits and no other route");
  c.footer(kTimeFooter);
  c.callback([o, &exit] { exit = time(*o); });
}

}  // namespace mla::cli
