// `mla-testbed plants`: puts known defects back and shows that their properties catch them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "properties/cli/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/cli/terminal.hpp"
#include "properties/plants/origins.hpp"
#include "properties/plants/plant.hpp"
#include "properties/runner.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::Plant;

struct Options {
  std::vector<std::string> ids;  // empty: all
  std::string time = "60s";
  std::string seed = "1";
  bool list = false;
  bool table = false;
};

constexpr const char* kFooter = R"(
Every plant is one defect that was found for real, with the property that has to catch it. It is
planted into the running program only, and random cases are drawn until its property fails. A plant
that no case catches within --for is exit 1: the judge would have missed that defect.

Examples:
  mla-testbed plants --list
  mla-testbed plants BUG-021
  mla-testbed plants --for 10s)";

// Random cases until the property fails or the time is over. RunOptions knows no "until a failure",
// so cases are drawn in rounds that grow.
struct Hunt {
  std::optional<prop::Failure> failure;
  std::int64_t cases = 0;
};

Hunt hunt(const Plant& plant, const Backend& backend, std::uint64_t seed,
          std::chrono::milliseconds limit) {
  const std::unique_ptr<prop::Interposer> defect = plant.make();
  const auto end = std::chrono::steady_clock::now() + limit;
  Hunt hunt;
  prop::RunOptions run;
  run.properties = {prop::find_property(plant.property)};
  run.backend = &backend;
  run.interposer = defect.get();
  run.replay_options = plant_option(plant.id);
  run.seed = seed;
  for (run.random_cases = 100; std::chrono::steady_clock::now() < end; run.random_cases *= 2) {
    const prop::RunReport report = prop::run_properties(run);
    hunt.cases += report.cases;
    if (!report.failures.empty()) {
      hunt.failure = report.failures.front();
      break;
    }
    ++run.seed;
  }
  return hunt;
}

ExitCode list() {
  std::string out;
  for (const Plant& p : prop::all_plants())
    out += std::string(p.id) + "  " + std::string(p.property) + "  " + std::string(p.what) + "\n";
  return finish("plants", out, out.empty() ? ExitCode::inconclusive : ExitCode::held);
}

std::string report_name(const prop::Origin& origin) {
  if (origin.address.empty()) return "found in code";
  // https://github.com/<owner>/<name>/issues/<number>
  std::string name(origin.address.substr(std::string_view("https://github.com/").size()));
  const std::size_t issues = name.find("/issues/");
  if (issues != std::string::npos) name.replace(issues, 8, "#");
  return "[" + name + "](" + std::string(origin.address) + ")";
}

// docs/bugs.md: every defect of the corpus with its plants, or the reason why it has none.
ExitCode table() {
  std::string out =
      "# Which real defects are planted?\n\nMade by `mla-testbed plants --table`; a test keeps it "
      "so.\n\n| Defect | Report | Caught by | What is planted, or why nothing is |\n"
      "| --- | --- | --- | --- |\n";
  std::int64_t planted = 0;
  for (const prop::Origin& origin : prop::all_origins()) {
    std::string caught;
    std::string what;
    for (const Plant& p : prop::all_plants()) {
      if (prop::find_origin(p.id) != &origin) continue;
      caught += (caught.empty() ? "" : ", ") + std::string(p.property);
      what += (what.empty() ? "" : " ") + std::string(p.what);
    }
    planted += caught.empty() ? 0 : 1;
    out += "| " + std::string(origin.id) + " | " + report_name(origin) + " | " +
           (caught.empty() ? "–" : caught) + " | " +
           (caught.empty() ? "Not planted: " + std::string(origin.why_not) + "." : what) + " |\n";
  }
  out +=
      "\n" + std::to_string(planted) + " of " + std::to_string(prop::all_origins().size()) +
      " are planted. Besides, there are states from before the reports, and defects that the judge "
      "once missed:\n\n"
      "| Plant | Caught by | What is planted |\n| --- | --- | --- |\n";
  for (const Plant& p : prop::all_plants())
    if (prop::find_origin(p.id) == nullptr)
      out += "| " + std::string(p.id) + " | " + std::string(p.property) + " | " +
             std::string(p.what) + " |\n";
  return finish("plants", out, ExitCode::held);
}

// One line for the end of a run.
std::string summary_row(const Plant& plant, const Hunt& found) {
  const prop::Origin* origin = prop::find_origin(plant.id);
  char row[64];
  std::snprintf(row, sizeof row, "%-22s %-4s %6lld  ", std::string(plant.id).c_str(),
                std::string(plant.property).c_str(), static_cast<long long>(found.cases));
  return row + (found.failure ? format_case(found.failure->smallest) : std::string("MISSED")) +
         (origin != nullptr && !origin->address.empty() ? "  " + std::string(origin->address)
                                                        : std::string()) +
         "\n";
}

ExitCode plants(const Options& o) {
  if (o.list) return list();
  if (o.table) return table();
  const auto limit = parse_duration("--for", o.time);
  if (!limit) return complain("plants", limit.error());
  const auto seed = parse_seed("--seed", o.seed);
  if (!seed) return complain("plants", seed.error());
  for (const std::string& id : o.ids)
    if (prop::find_plant(id) == nullptr) {
      write_stderr("mla-testbed plants: '" + id + "' is no plant; see --list\n");
      return ExitCode::inconclusive;
    }
  const auto backends = make_backends("cpu", {});
  if (!backends) return complain("plants", backends.error());
  std::int64_t tried = 0;
  std::int64_t missed = 0;
  std::string summary = "plant                  by    cases  smallest case, report\n";
  for (const Plant& plant : prop::all_plants()) {
    if (!o.ids.empty() && std::find(o.ids.begin(), o.ids.end(), plant.id) == o.ids.end()) continue;
    const Hunt found = hunt(plant, *backends->front().backend, *seed, *limit);
    ++tried;
    missed += found.failure ? 0 : 1;
    const std::string head = std::string(plant.id) + " (" + std::string(plant.what) + "): ";
    const std::string tail = found.failure ? "caught\n" + prop::failure_block(*found.failure) + "\n"
                                           : "MISSED by " + std::string(plant.property) + " in " +
                                                 std::to_string(found.cases) + " cases\n";
    summary += summary_row(plant, found);
    if (const Status bad = write_stdout(head + tail)) return complain("plants", *bad);
  }
  const ExitCode code = tried == 0    ? ExitCode::inconclusive
                        : missed == 0 ? ExitCode::held
                                      : ExitCode::failed;
  return finish("plants",
                (tried > 0 ? summary : std::string()) + std::to_string(tried - missed) + " of " +
                    std::to_string(tried) + " plants caught\n",
                code);
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
  c->add_flag("--list", o->list, "List the plants and the properties that catch them");
  c->add_flag("--table", o->table, "Print docs/bugs.md: every known defect, planted or not");
  c->footer(kFooter);
  c->callback([o, &exit] { exit = plants(*o); });
}

}  // namespace mla::cli
