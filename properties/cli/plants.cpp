// `mla-testbed plants`: puts known defects back and shows that their properties catch them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "core/say.hpp"
#include "properties/capture/terminal.hpp"
#include "properties/cli/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/cli/recording.hpp"
#include "properties/cli/selection.hpp"
#include "properties/judge/runner.hpp"
#include "properties/plants/origins.hpp"
#include "properties/plants/plant.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::Plant;

struct Options {
  std::vector<std::string> ids;  // empty: all
  std::string time = "60s";
  std::string seed = "1";
  std::string shard;  // empty: all
  bool no_progress = false;
  bool list = false;
  bool table = false;
};

constexpr const char* kFooter = R"(
Every plant is a known defect, with the property that must catch it. The command puts it into the
running program and draws random cases until the property fails. If no case catches a plant within
--for, the exit code is 1: the judge would have missed this defect. --shard 1/3 tries every third of
the plants, or lists it.

Examples:
  mla-testbed plants --list
  mla-testbed plants BUG-021
  mla-testbed plants --for 10s
  mla-testbed plants --shard 1/3)";

// Random cases until the property fails or the time is over.
prop::RunReport hunt(const Plant& plant, const Backend& backend, std::uint64_t seed,
                     std::chrono::milliseconds limit, const std::function<void()>& progress) {
  const std::unique_ptr<prop::Interposer> defect = plant.make();
  prop::RunOptions run;
  run.properties = {prop::find_property(plant.property)};
  run.backend = &backend;
  run.interposer = defect.get();
  run.replay_options = plant_option(plant.id);
  run.seed = seed;
  run.time_limit = limit;
  run.stopped = interrupted;
  run.progress = [&progress](std::int64_t, std::int64_t) { progress(); };
  return prop::run_properties(run);
}

ExitCode list(const std::vector<const Plant*>& wanted) {
  std::string out;
  for (const Plant* p : wanted) out += say(p->id, "  ", p->property, "  ", p->what, "\n");
  return finish("plants", out, out.empty() ? ExitCode::inconclusive : ExitCode::held);
}

std::string report_name(const prop::Origin& origin) {
  if (origin.address.empty()) return "found in code";
  // https://github.com/<owner>/<name>/issues/<number>
  std::string name(origin.address.substr(std::string_view("https://github.com/").size()));
  const std::size_t issues = name.find("/issues/");
  if (issues != std::string::npos) name.replace(issues, 8, "#");
  return say("[", name, "](", origin.address, ")");
}

constexpr const char* kTableHead = R"(# Which real defects are planted?

These are the defects from which this project started, with their public reports. A plant puts a
defect back on purpose, and the property in its row must catch it. *Imitated*: the plant edits what
a launch returned; all others break the stage that was broken. `mla-testbed plants --table` writes
this page.

| Defect | Report | Caught by | What is planted, or why nothing is |
| --- | --- | --- | --- |
)";

std::string sentence(const Plant& p) {
  return say(p.what, p.imitated ? " *Imitated.*" : "");
}

// docs/bugs.md: every defect of the corpus with its plants, or the reason why it has none.
ExitCode table() {
  std::string out = kTableHead;
  std::int64_t planted = 0;
  for (const prop::Origin& origin : prop::all_origins()) {
    std::string caught;
    std::string what;
    for (const Plant& p : prop::all_plants()) {
      if (prop::find_origin(p.id) != &origin) continue;
      caught += say(caught.empty() ? "" : ", ", p.property);
      what += (what.empty() ? "" : " ") + sentence(p);
    }
    planted += caught.empty() ? 0 : 1;
    out += say("| ", origin.id, " | ", report_name(origin), " | ", caught.empty() ? "–" : caught,
               " | ", caught.empty() ? say("Not planted: ", origin.why_not, ".") : what, " |\n");
  }
  out += say(
      "\n", planted, " of ", prop::all_origins().size(),
      " are planted. Further plants are states from before the reports, and defects that the judge "
      "once missed:\n\n"
      "| Plant | Caught by | What is planted |\n| --- | --- | --- |\n");
  for (const Plant& p : prop::all_plants())
    if (prop::find_origin(p.id) == nullptr)
      out += say("| ", p.id, " | ", p.property, " | ", sentence(p), " |\n");
  return finish("plants", out, ExitCode::held);
}

// One line for the end of a run.
std::string summary_row(const Plant& plant, const prop::RunReport& report) {
  const prop::Origin* origin = prop::find_origin(plant.id);
  char row[64];
  std::snprintf(row, sizeof row, "%-22s %-4s %6lld  ", std::string(plant.id).c_str(),
                std::string(plant.property).c_str(), static_cast<long long>(report.cases));
  return row +
         (report.failures.empty() ? "MISSED" : format_case(report.failures.front().smallest)) +
         (origin != nullptr && !origin->address.empty() ? say("  ", origin->address)
                                                        : std::string()) +
         "\n";
}

// What became of one plant.
std::string account(const Plant& plant, const prop::RunReport& report) {
  const std::string head = say(plant.id, " (", plant.what, "): ");
  if (!report.failures.empty())
    return head + "caught\n" + prop::failure_block(report.failures.front()) + "\n";
  return say(head, "MISSED by ", plant.property, " in ", report.cases, " cases\n");
}

// The share of the plants with these ids; of all if there is none.
std::vector<const Plant*> chosen(const std::vector<std::string>& ids, const prop::Shard& shard) {
  std::vector<const Plant*> out;
  std::int64_t place = 0;
  for (const Plant& plant : prop::all_plants())
    if (ids.empty() || std::find(ids.begin(), ids.end(), plant.id) != ids.end())
      if (place++ % shard.count == shard.index) out.push_back(&plant);
  return out;
}

ExitCode plants(const Options& o) {
  if (o.table) return table();
  for (const std::string& id : o.ids) {
    const auto plant = select_plant(id);
    if (const auto* none = std::get_if<Unselected>(&plant))
      return complain_unselected("plants", *none);
  }
  const auto shard = parse_shard(o.shard.empty() ? "1/1" : o.shard);
  if (!shard) return complain("plants", shard.error());
  const std::vector<const Plant*> wanted = chosen(o.ids, *shard);
  if (o.list) return list(wanted);
  const auto limit = parse_duration("--for", o.time);
  if (!limit) return complain("plants", limit.error());
  const auto seed = parse_seed("--seed", o.seed);
  if (!seed) return complain("plants", seed.error());
  const auto backends = make_backends("cpu", {});
  if (!backends) return complain("plants", backends.error());
  std::size_t tried = 0;
  std::size_t caught = 0;
  std::string summary = "plant                  by    cases  smallest case, report\n";
  catch_interrupts();
  Progress bar("plants", !o.no_progress, std::nullopt);
  const auto progress = [&] { bar.update(static_cast<std::int64_t>(tried), std::ssize(wanted)); };
  for (const Plant* plant : wanted) {
    const prop::RunReport report =
        hunt(*plant, *backends->front().backend, *seed, *limit, progress);
    bar.hide();
    if (report.interrupted && report.failures.empty()) break;
    ++tried;
    caught += report.failures.empty() ? 0 : 1;
    summary += summary_row(*plant, report);
    if (const Status bad = write_stdout(account(*plant, report))) return complain("plants", *bad);
  }
  if (tried < wanted.size())
    summary += say("interrupted: ", tried, " of ", wanted.size(), " plants were tried\n");
  const ExitCode code = caught < tried                        ? ExitCode::failed
                        : tried == 0 || tried < wanted.size() ? ExitCode::inconclusive
                                                              : ExitCode::held;
  return finish("plants", say(summary, caught, " of ", tried, " plants caught\n"), code);
}

}  // namespace

void add_plants(CLI::App& app, ExitCode& exit) {
  auto o = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("plants", "Plant known defects and see them caught");
  c->add_option("ids", o->ids, "Plants to try; all if none is named");
  c->add_option("--for", o->time, "Time for each plant")->type_name("TIME")->capture_default_str();
  c->add_option("--seed", o->seed, "Seed of the random cases")
      ->type_name("N")
      ->capture_default_str();
  c->add_option("--shard", o->shard, "Try the i-th of n shares of the plants, as 1/3")
      ->type_name("i/n");
  c->add_flag("--no-progress", o->no_progress, "Draw no progress bar");
  c->add_flag("--list", o->list, "List the plants and the properties that catch them");
  c->add_flag("--table", o->table, "Print docs/bugs.md: every known defect, planted or not");
  c->footer(kFooter);
  c->callback([o, &exit] { exit = plants(*o); });
}

}  // namespace mla::cli
