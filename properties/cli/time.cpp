// `mla-testbed time`: the predicted time of a decode step, and where it goes.
#include <memory>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/searched_plan.hpp"
#include "properties/app/step_time.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/cli/time_sweep.hpp"
#include "properties/dump/read/bundle.hpp"
#include "properties/dump/read/dump_file.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

struct TimeOptions {
  std::string what;
  std::string against;  // empty: nothing to compare with
  std::string step;     // empty: the first
  std::string save;     // empty: nowhere
  bool json = false;
  bool this_only = false;
  bool better = false;
  bool tensors = false;
  bool sweep = false;
  SweepOptions swept = {};
};

constexpr const char* kTimeFooter = R"(
Prints how long the step takes as predicted from published times, split into stage 1, imbalance,
reduce and launch; beside it the roofline, a bound that no plan is below, the step without its
plan, and the best of several numbers of splits. No time is measured. docs/use/time.md says how far
a prediction may be trusted. Outside of the fitted range nothing is predicted and the exit code is
10, as for a case that is refused. A bundle or a JSON file is read as `check` reads it, and its plan
must be valid. --against names a second step and shows which term changed.
--better searches a plan that is predicted to be faster, beside AITER's planners. --save writes it
as a bundle that `check` takes; `replay` takes it too if it holds tensors: with --tensors, or if the
bundle that was given holds them. The exit code is 10 if no better plan was found.
--sweep gives all requests one number of keys and prints a table over both; what else the case says
stays. --html and --svg draw it.

Examples:
  mla-testbed time 'mla1:64q1s8k;heads=64;arch=gfx950;dtype=fp8/fp8'
  mla-testbed time 'mla1:32q1s8k;arch=gfx950;planner=none;splits=9' --json
  mla-testbed time 'mla1:1q1s16k;arch=gfx950;dtype=fp8/fp8' \
    --against 'mla1:1q1s16k;arch=gfx950;dtype=fp8/fp8;split=38'
  mla-testbed time 'mla1:1q1s1k;arch=gfx950;dtype=fp8/fp8' --sweep --svg times.svg
  mla-testbed time 'mla1:9q1s500_2q1s8k;arch=gfx950;dtype=fp8/fp8' --better --save better \
    --tensors)";

bool is_case(const std::string& what) {
  return what.starts_with("mla1");
}

Result<app::StepTime> time_of_case(const std::string& line, const app::TimeQuestion& question) {
  const auto c = parse_case(line);
  if (!c) return c.error();
  if (const MaybeError bad = app::check_list_memory(*c)) return *bad;
  return app::time_step(*c, question);
}

Result<app::StepTime> time_of(const std::string& what, const std::string& step,
                              const app::TimeQuestion& question) {
  if (is_case(what)) return time_of_case(what, question);
  const auto file = dump::DumpFile::open(what);
  if (!file) return file.error();
  std::int64_t wanted = 0;
  if (!step.empty()) {
    const auto number = parse_count("--step", step);
    if (!number) return number.error();
    wanted = *number;
  }
  const auto count = static_cast<std::int64_t>(file->size());
  if (wanted >= count)
    return Error{ErrorCode::usage, say("--step is ", wanted, ", and '", what, "' has ", count,
                                       count == 1 ? " plan" : " plans", ", counted from 0")};
  const auto place = static_cast<std::size_t>(wanted);
  const auto found = file->read(place);
  if (!found) return found.error();
  auto time = app::time_step(*found, question);
  if (time) return time;
  Error located = file->at(place, time.error());
  located.code = time.error().code;  // a plan that cannot be predicted is no wrong file
  return located;
}

ExitCode time_against(const TimeOptions& o, const app::StepTime& now) {
  const auto before = time_of(o.against, {}, {});
  if (!before) return complain("time", before.error());
  for (const app::StepTime* one : {&now, &*before})
    if (!one->step.predicted)
      return complain(
          "time", Error{ErrorCode::unsupported,
                        say("'", one->step.name, "' is ", one->step.predicted.error().message)});
  return finish("time",
                o.json ? app::json_text(app::time_against_json(now, *before))
                       : app::time_against_text(now, *before),
                ExitCode::held);
}

// With the better plan of `time`, which there is.
Result<dump::Bundle> better_bundle(const TimeOptions& o, const app::StepTime& time) {
  if (time.step.spec) {
    const auto backend = cpu::make_cpu_backend();
    return app::searched_bundle(*time.step.spec, o.tensors ? backend.get() : nullptr);
  }
  auto bundle = dump::read_bundle(o.what);
  if (!bundle) return bundle.error();
  return app::with_plan(*std::move(bundle), *time.faster);
}

MaybeError sweep_contradiction(const TimeOptions& o) {
  if (!o.against.empty() || o.better || !o.save.empty() || o.tensors || !o.step.empty() ||
      o.this_only)
    return Error{ErrorCode::usage,
                 "--sweep predicts many steps; it takes --batches, --contexts, --html, --svg and "
                 "--json, and no option about one step"};
  if (!is_case(o.what))
    return Error{ErrorCode::usage, say("--sweep goes with a case, and '", o.what, "' is none")};
  return std::nullopt;
}

// What options contradict each other; nothing if none do.
MaybeError contradiction(const TimeOptions& o) {
  const auto bad = [](std::string why) { return Error{ErrorCode::usage, std::move(why)}; };
  if (o.sweep) return sweep_contradiction(o);
  if (!o.swept.batches.empty() || !o.swept.contexts.empty() || !o.swept.html.empty() ||
      !o.swept.svg.empty())
    return bad("--batches, --contexts, --html and --svg go with --sweep");
  if (!o.against.empty() && o.this_only)
    return bad("--this-only is without effect beside --against, which tries nothing else");
  if (!o.against.empty() && o.better)
    return bad("--better is without effect beside --against, which compares two plans as they are");
  if (!o.save.empty() && !o.better) return bad("--save goes with --better, whose plan it writes");
  if (o.tensors && o.save.empty()) return bad("--tensors goes with --save DIR");
  if (is_case(o.what)) {
    if (!o.step.empty()) return bad("--step goes with a file of plans; a case is one step");
    return std::nullopt;
  }
  if (o.tensors) return bad("--tensors goes with a case: a bundle keeps those that it has");
  if (!o.save.empty() && !dump::is_bundle(o.what))
    return bad(say("--save goes with a case or a bundle, and '", o.what, "' is neither"));
  return std::nullopt;
}

ExitCode time(const TimeOptions& o) {
  if (const MaybeError bad = contradiction(o)) return complain("time", *bad);
  if (o.sweep) {
    SweepOptions swept = o.swept;
    swept.line = o.what;
    swept.json = o.json;
    return time_sweep(swept);
  }
  const auto now =
      time_of(o.what, o.step, {.others = o.against.empty() && !o.this_only, .faster = o.better});
  if (!now) return complain("time", now.error());
  if (!o.against.empty()) return time_against(o, *now);
  Publisher out("time");
  if (!o.save.empty() && now->faster) {
    const auto bundle = better_bundle(o, *now);
    if (!bundle) return complain("time", bundle.error());
    out.lost(dump::write_bundle(*bundle, o.save));
  }
  const bool told = now->step.predicted && (!o.better || now->faster);
  return out.finish(o.json ? app::json_text(app::time_json(*now)) : app::time_text(*now),
                    told ? ExitCode::held : ExitCode::skipped);
}

}  // namespace

void add_time(Command& app, ExitCode& exit) {
  auto o = std::make_shared<TimeOptions>();
  Command c = app.add_subcommand("time", "Predict how long a decode step takes");
  c.add_option("step", o->what,
               "The case, one line (docs/reference/cases.md), a bundle or a JSON file")
      .required();
  c.add_option("--against", o->against, "Compare with this case, bundle or file, term by term")
      .type_name("STEP");
  c.add_option("--step", o->step, "Which plan of a file with several, counted from 0")
      .type_name("N");
  c.add_flag("--json", o->json, "Print the prediction, and what the model read, as JSON");
  c.add_flag("--this-only", o->this_only, "Try no other number of splits and no other route");
  c.add_flag("--better", o->better, "Search a plan that is predicted to be faster");
  c.add_option("--save", o->save, "Write the better plan as a bundle to this folder")
      .type_name("DIR");
  c.add_flag("--tensors", o->tensors,
             "Also write Q, cache and the CPU backend's result of the better plan");
  c.add_flag("--sweep", o->sweep, "Predict the case with other numbers of requests and keys");
  c.add_option("--batches", o->swept.batches, "Requests of a sweep, such as 1,16,256")
      .type_name("LIST");
  c.add_option("--contexts", o->swept.contexts, "Keys of each request of a sweep, such as 512,8k")
      .type_name("LIST");
  c.add_option("--html", o->swept.html, "Write a sweep as a page to this file; - is stdout")
      .type_name("FILE");
  c.add_option("--svg", o->swept.svg, "Write a sweep as a picture to this file; - is stdout")
      .type_name("FILE");
  c.footer(kTimeFooter);
  c.callback([o, &exit] { exit = time(*o); });
}

}  // namespace mla::cli
