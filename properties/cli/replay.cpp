// `mla-testbed replay`: judges exactly one case, as it is written, or one captured step.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/report/roofline.hpp"
#include "properties/app/failure_page.hpp"
#include "properties/app/failure_pictures.hpp"
#include "properties/app/judge_case.hpp"
#include "properties/app/launch_log.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/replay_bundle.hpp"
#include "properties/app/selection.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/dump/read/bundle.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/runner.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::Verdict;

struct ReplayOptions {
  std::string line;
  std::string backends = "cpu";
  app::DeviceChoice device;
  std::vector<std::string> properties;
  std::string plant;  // empty: none
  bool statistics = false;
  ProfileOptions profile;
  std::string html;   // empty: none
  std::string junit;  // empty: none
  bool json = false;
  std::string memory;  // empty: what is available
  bool any_size = false;
};

constexpr const char* kReplayFooter = R"(
Judges the case as written, by all properties or the named ones, on each named backend. The last
lines say what was launched. Quote the case: a shell ends a command at ';'.
A case is refused with a reason and exit code 10 if no kernel or planner takes it, if the backend
has no such step, or if nothing can be judged because the step is too large (--any-size). A case
that needs more than the available memory, or more than --memory-limit, is refused with exit code 3.
On a terminal, long cases show an estimate and their progress. SIGINT ends the command after the
current property.
A bundle with tensors (docs/reference/bundles.md) is executed with its own lists and plan. The
results of the backends and of the engine are compared with the float64 reference.

Examples:
  mla-testbed replay 'mla1:16q4s1k_3q1s513;heads=8;block=16'
  mla-testbed replay 'mla1:1q2s300;heads=128' --property P05 --property P13
  mla-testbed replay 'mla1:1q2s300;heads=128' --backend cpu-portable
  mla-testbed replay 'mla1:1q2s2' --property P12 --plant SEED-qo-arange
  mla-testbed replay fixtures/bundles/kernel
  mla-testbed replay 'mla1:1q1s8k' --property P24 --backend hip --device emulated:gfx942 \
    --statistics
  mla-testbed replay 'mla1:1q1s8k' --property P24 --backend hip,aiter \
    --device emulated:gfx942 --statistics)";

std::string verdict_line(const prop::Property& p, const prop::Outcome& outcome) {
  std::string out = say(p.id, " ", p.name, ": ", prop::name(outcome.verdict));
  const bool judged = outcome.verdict == Verdict::pass || outcome.verdict == Verdict::fail;
  if (!judged) out += " (" + outcome.message + ")";
  return out + "\n";
}

// What one or more backends made of the case.
struct Judged {
  std::string lines;  // one for each property
  std::vector<app::JudgedOn> answers;
  MaybeError bad;  // stdout did not take a failure block
  bool refused = false;
  std::int64_t held = 0;
  std::int64_t failed = 0;
  std::int64_t unsettled = 0;
  std::int64_t findings = 0;  // of the emulator

  // A case that was refused, or about which no property says anything, has not passed.
  [[nodiscard]] ExitCode exit_code() const {
    if (failed > 0 || findings > 0) return ExitCode::failed;
    if (unsettled > 0) return ExitCode::inconclusive;
    return refused || held == 0 ? ExitCode::skipped : ExitCode::held;
  }
};

std::string verdict_words(const prop::Outcome& outcome) {
  return say(prop::name(outcome.verdict), outcome.message.empty() ? "" : ": " + outcome.message);
}

// What a page says of one backend.
app::Facts facts_of(const app::CaseQuestion& question, const prop::Judgement& judgement) {
  app::Facts facts;
  for (std::size_t p = 0; p < question.properties.size(); ++p)
    facts.emplace_back(question.properties[p]->id, verdict_words(judgement.outcomes[p]));
  for (const std::string& line : judgement.launches().lines()) facts.emplace_back("launched", line);
  return facts;
}

void judge_on(app::CaseQuestion question, const app::NamedBackend& named, bool json,
              Judged& judged) {
  Progress bar("properties", true, std::nullopt);
  std::int64_t done = 0;
  question.stopped = [&] {
    bar.update(++done, std::ssize(question.properties));
    return interrupted();
  };
  app::JudgedCase answer = app::judge_case(question, named);
  const prop::Judgement& judgement = answer.judgement;
  bar.hide();
  judged.lines += "backend " + named.name + "\n";
  for (const auto& [fact, value] : named.facts)
    if (fact == app::kNotJudged) judged.lines += say(fact, ": ", value, "\n");
  const MaybeError& why = judgement.why_refused;
  if (why)
    judged.lines +=
        "refused: " + why->message + (why->bug.empty() ? "" : " (" + why->bug + ")") + "\n";
  judged.refused = judged.refused || judgement.refused || why;
  for (std::size_t p = 0; p < question.properties.size(); ++p)
    judged.lines += verdict_line(*question.properties[p], judgement.outcomes[p]);
  judged.held += answer.held;
  judged.unsettled += answer.unsettled;
  judged.failed += answer.failed;
  for (const std::string& line : judgement.launches().lines())
    judged.lines += "launched: " + line + "\n";
  if (named.emulation != nullptr) {
    judged.lines += named.emulation->text();
    judged.findings += std::ssize(named.emulation->findings());
  }
  if (answer.failure && !judged.bad) {
    const std::string block = prop::failure_block(*answer.failure) + "\n";
    if (json)
      files::write_stderr(block);
    else
      judged.bad = files::write_stdout(block);
  }
  judged.answers.push_back({&named, std::move(answer)});
}

// Executes the case once more on each backend, for the pictures.
std::string replay_page(const app::CaseQuestion& question, const Judged& judged) {
  std::vector<show::Section> sections;
  for (const auto& [backend, answer] : judged.answers) {
    if (answer.failure) sections.push_back(app::failure_section(*answer.failure));
    sections.push_back({.heading = "backend " + backend->name,
                        .html = show::facts_html(facts_of(question, answer.judgement)),
                        .pictures = {}});
    sections.push_back(app::pictures_of_case(question.spec, *backend->backend, question.defect));
  }
  const bool failed = std::ranges::any_of(
      judged.answers, [](const app::JudgedOn& on) { return on.answer.failure.has_value(); });
  return show::html_page(
      say(failed ? "FAIL" : "mla-testbed replay", " ", format_case(question.spec)), sections);
}

// After a bundle: what the emulator saw.
ExitCode with_findings(ExitCode code, const std::vector<app::NamedBackend>& backends) {
  for (const app::NamedBackend& b : backends) {
    if (b.emulation == nullptr) continue;
    if (!b.emulation->findings().empty() && code != ExitCode::environment) code = ExitCode::failed;
    code = finish("replay", "backend " + b.name + " " + b.emulation->text(), code);
  }
  return code;
}

ExitCode print_bundle(const ReplayOptions& o, const std::vector<app::NamedBackend>& backends) {
  const auto replayed = app::replay_bundle(o.line, backends, !o.html.empty());
  if (!replayed) return complain("replay", replayed.error());
  Publisher out("replay");
  if (replayed->page) out.page(o.html, [&] { return *replayed->page; });
  return out.finish(replayed->text, replayed->exit);
}

ExitCode replay_captured(const ReplayOptions& o, const std::vector<app::NamedBackend>& backends,
                         const app::LaunchProfile& profile) {
  if (!o.plant.empty() || !o.properties.empty() || o.statistics || !o.memory.empty() ||
      o.any_size || o.json || !o.junit.empty())
    return refuse("replay",
                  "--property, --plant, --statistics, --memory-limit, --any-size, --json and "
                  "--junit go with a case: a bundle is held to the reference as it is");
  const ExitCode code = with_findings(print_bundle(o, backends), backends);
  Publisher out("replay");
  publish_profile(profile, o.profile, out);
  return out.finish("", code);
}

ExitCode replay(const ReplayOptions& o) {
  app::LaunchLog log;
  app::LaunchProfile profile;
  app::DeviceChoice device = o.device;
  if (const MaybeError bad = ask_for_profile(o.profile, device.device, device.emulation))
    return complain("replay", *bad);
  if (o.statistics) {
    if (o.json) return refuse("replay", "--json has no --statistics: the text has them");
    if (!o.device.device.starts_with("emulated:"))
      return refuse("replay",
                    "--statistics needs an emulated device, not '" + o.device.device + "'");
  }
  if (o.statistics || o.profile.given())
    device.observe = [&](std::string_view kernel, const gfx::LaunchReport& report) {
      log.note(kernel, report);
      profile.note(kernel, report);
    };
  const std::initializer_list<files::Output> outputs = {files::printed(false),
                                                        {"--html", o.html},
                                                        {"--junit", o.junit},
                                                        {"--annotate", o.profile.annotate},
                                                        {"--trace", o.profile.trace}};
  if (const MaybeError bad = files::check_outputs(outputs, {{"replay", o.line}}))
    return complain("replay", *bad);
  if (const MaybeError none = dump::why_no_bundle(o.line)) return complain("replay", *none);
  auto backends = app::make_backends(o.backends, device);
  if (!backends) return complain("replay", backends.error());
  if (dump::is_bundle(o.line)) return replay_captured(o, *backends, profile);
  const auto c = parse_case(o.line);
  if (!c) return complain("replay", c.error());
  auto properties = app::select_properties(o.properties);
  if (const auto* unselected = std::get_if<app::Unselected>(&properties))
    return complain_unselected("replay", *unselected);
  app::CaseQuestion question{
      .spec = *c,
      .properties = *std::get_if<0>(&properties),
      .limits = o.any_size ? prop::ExecutionLimits::none() : prop::ExecutionLimits{},
      .defect = nullptr,
      .options = {}};
  if (o.any_size && prop::why_not_executed(*c, {})) question.options = " --any-size";
  std::unique_ptr<prop::Interposer> defect;
  if (!o.plant.empty()) {
    const auto plant = app::select_plant(o.plant);
    if (const auto* unselected = std::get_if<app::Unselected>(&plant))
      return complain_unselected("replay", *unselected);
    defect = (*std::get_if<0>(&plant))->make();
    question.defect = defect.get();
    question.options += app::plant_option(o.plant);
  }
  const auto limit = parse_memory_limit(o.memory);
  if (!limit) return complain("replay", limit.error());
  const app::Judging judging{question.properties, question.limits};
  if (const MaybeError bad = app::check_memory(*c, judging, *limit))
    return complain("replay", *bad);
  if (const std::string what = app::announcement(*c, judging);
      !what.empty() && files::stderr_is_terminal())
    note("replay", what);
  catch_interrupts();
  Judged judged;
  for (const app::NamedBackend& b : *backends) {
    log.begin(b.name);
    judge_on(question, b, o.json, judged);
  }
  Publisher out("replay");
  out.lost_stdout(judged.bad);
  publish_profile(profile, o.profile, out);
  out.file(o.junit, [&] { return app::case_junit(question, judged.answers); });
  out.page(o.html, [&] { return replay_page(question, judged); });
  std::string data = "case " + format_case(*c) + "\n" + judged.lines;
  if (o.statistics)
    data += log.text(c->arch == Arch::gfx942 ? gfx::Arch::gfx942 : gfx::Arch::gfx950);
  const ExitCode code = judged.exit_code();
  return out.finish(o.json ? app::case_json(question, judged.answers, code) : data, code);
}

}  // namespace

void add_replay(Command& app, ExitCode& exit) {
  auto o = std::make_shared<ReplayOptions>();
  Command c = app.add_subcommand("replay", "Judge exactly one case, or a captured step");
  c.add_option("case", o->line, "The case, one line (docs/reference/cases.md), or a bundle")
      .required();
  c.add_option("--backend", o->backends, "Backends to judge, separated by commas")
      .type_name("NAMES")
      .show_default();
  add_device_options(c, o->device);
  c.add_option("--property", o->properties, "Judge by this property only (repeatable)")
      .type_name("ID")
      .one_value_each()
      .delimiter(',');
  c.add_flag("--statistics", o->statistics,
             "Print what each kernel did on the emulated device, compared with a GPU's peaks; of "
             "several backends, also each stage side by side");
  add_profile_options(c, o->profile);
  c.add_option("--memory-limit", o->memory,
               "Refuse a case that needs more memory, as 512M or 8G; default: what is available")
      .type_name("SIZE");
  c.add_flag(
      "--any-size", o->any_size,
      "Execute a case of any size, as a bundle always is; without it plans and lists alone are "
      "judged above 22 million (row, head, key) products or 2 GiB of tensors");
  c.add_option("--plant", o->plant, "Plant this known defect first").type_name("ID");
  c.add_flag("--json", o->json, "Print one JSON object instead of the text");
  c.add_option("--junit", o->junit, "Also write the verdicts as JUnit XML to this file")
      .type_name("FILE");
  c.add_option("--html", o->html, "Also write a page with the verdicts and pictures to this file")
      .type_name("FILE");
  c.footer(kReplayFooter);
  c.callback([o, &exit] { exit = replay(*o); });
}

}  // namespace mla::cli
