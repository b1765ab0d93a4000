#include "properties/cli/judging_options.hpp"

#include <set>
#include "properties/app/ledger_file.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/selection.hpp"

#include "core/say.hpp"
#include "properties/claims/support/canary.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/quantity.hpp"

namespace mla::cli {
namespace {

// Options that say what is written, or which part is judged, and not what.
const std::set<std::string>& other_options() {
  static const std::set<std::string> names = {"json",   "junit",     "html",   "no-progress",
                                              "timing", "record",    "resume", "memory-limit",
                                              "shard",  "aiter-hsa", "help"};
  return names;
}

}  // namespace

void add_judging_options(Command& command, JudgingOptions& o, bool choose_properties) {
  const Option time =
      command.add_option("--for", o.time, "Draw random cases for this time, as 500ms, 30s or 2m")
          .type_name("TIME")
          .show_default();
  command.add_option("--cases", o.cases, "Draw this many random cases")
      .type_name("N")
      .excludes(time);
  command.add_option("--seed", o.seed, "Seed of the random cases").type_name("N").show_default();
  command.add_flag("--widths", o.widths,
                   "Draw rows of other widths than 512 + 64 too, in half of the decode cases");
  if (choose_properties)
    command.add_option("--property", o.properties, "Judge by this property only (repeatable)")
        .type_name("ID")
        .one_value_each()
        .delimiter(',');
  command
      .add_option("--cases-file", o.case_files, "Judge the cases of this file first (repeatable)")
      .type_name("FILE")
      .one_value_each();
  command.add_option("--ledger", o.ledger, "Known findings, and the launches that each breaks")
      .type_name("FILE");
  command.add_option("--shard", o.shard, "Judge the i-th of n shares of the cases, as 1/3")
      .type_name("i/n");
  command
      .add_option("--record", o.record,
                  "Also write what was found about each case to this file, for merge and --resume")
      .type_name("FILE");
  add_publication_options(command, o);
}

void add_publication_options(Command& command, JudgingOptions& o) {
  command.add_flag("--json", o.publication.json, "Print one JSON object instead of the table");
  command.add_option("--junit", o.publication.junit, "Also write a JUnit XML report to this file")
      .type_name("FILE");
  command
      .add_option("--html", o.publication.html,
                  "Also write a page with the verdicts and pictures of each failure to this file")
      .type_name("FILE");
  command
      .add_option("--memory-limit", o.memory,
                  "Skip cases that need more memory, as 512M or 8G; default: what is available")
      .type_name("SIZE");
  command.add_flag("--timing", o.publication.timing,
                   "Also report cases a second and the share of each property");
  command.add_flag("--no-progress", o.no_progress, "Draw no progress bar");
}

std::vector<files::Input> inputs_of(const JudgingOptions& o) {
  std::vector<files::Input> inputs;
  for (const std::string& file : o.case_files) inputs.push_back({"--cases-file", file});
  if (!o.ledger.empty()) inputs.push_back({"--ledger", o.ledger});
  return inputs;
}

std::variant<prop::RunOptions, prop::ExitCode> begin_judging(std::string_view command,
                                                             const JudgingOptions& o) {
  prop::RunOptions run;
  const auto seed = parse_seed("--seed", o.seed);
  if (!seed) return complain(command, seed.error());
  run.seed = *seed;
  run.widths = o.widths;
  if (!o.cases.empty()) {
    const auto cases = parse_count("--cases", o.cases);
    if (!cases) return complain(command, cases.error());
    run.random_cases = *cases;
  } else if (!o.time.empty()) {
    const auto time = parse_duration("--for", o.time);
    if (!time) return complain(command, time.error());
    run.time_limit = *time;
  }
  const auto limit = parse_memory_limit(o.memory);
  if (!limit) return complain(command, limit.error());
  run.memory = static_cast<double>(limit->bytes);
  auto properties = app::select_properties(o.properties);
  if (const auto* none = std::get_if<app::Unselected>(&properties))
    return complain_unselected(command, *none);
  run.properties = std::move(*std::get_if<0>(&properties));
  auto cases = app::select_cases(o.case_files);
  if (const auto* none = std::get_if<app::Unselected>(&cases))
    return complain_unselected(command, *none);
  run.cases = std::move(*std::get_if<0>(&cases));
  if (!o.ledger.empty()) {
    auto ledger = app::load_ledger(o.ledger);
    if (!ledger) return complain(command, ledger.error());
    run.ledger = std::move(*ledger);
  }
  if (o.properties.empty()) {
    run.properties.push_back(&prop::canary());
    run.ledger.push_back(prop::canary_entry());
  }
  return run;
}

std::vector<std::string> deciding_arguments(const Command& command) {
  return command.given_words(other_options());
}

MaybeError take_recorded(CommandLine& app, const app::Recording& recording,
                         const JudgingOptions& how, JudgingOptions& options) {
  if (const auto bad = app.parse(recording.arguments))
    return Error{ErrorCode::usage,
                 say("the record has options that the command does not take: ", bad->why)};
  if (deciding_arguments(app) != recording.arguments)
    return Error{ErrorCode::usage, "the record has options that decide nothing about the run"};
  options.publication = how.publication;
  options.no_progress = how.no_progress;
  options.memory = how.memory;
  return std::nullopt;
}

Result<app::Recording> begin_recording(std::string_view command, const JudgingOptions& options,
                                       const Command& app) {
  app::Recording out;
  out.path = options.record;
  out.command = command;
  out.arguments = deciding_arguments(app);
  if (options.shard.empty()) return out;
  const auto shard = parse_shard(options.shard);
  if (!shard) return shard.error();
  out.shard = *shard;
  return out;
}

}  // namespace mla::cli
