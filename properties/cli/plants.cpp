// `mla-testbed plants`: puts known defects back and shows that their properties catch them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "properties/cli/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/cli/terminal.hpp"
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

ExitCode plants(const Options& o) {
  if (o.list) return list();
  const auto limit = parse_duration("--for", o.time);
  if (!limit) return complain("plants", limit.error());
  const auto seed = parse_seed("--seed", o.seed);
  if (!seed) return complain("plants", seed.error());
  for (const std::string& id : o.ids)
    if (prop::find_plant(id) == nullptr) {
      write_stderr("mla-testbed plants: '" + id + "' is no plant; see --list\n");
      return ExitCode::inconclusive;
    }
  const auto backends = make_backends("cpu");
  if (!backends) return complain("plants", backends.error());
  std::int64_t tried = 0;
  std::int64_t missed = 0;
  for (const Plant& plant : prop::all_plants()) {
    if (!o.ids.empty() && std::find(o.ids.begin(), o.ids.end(), plant.id) == o.ids.end()) continue;
    const Hunt found = hunt(plant, *backends->front().backend, *seed, *limit);
    ++tried;
    missed += found.failure ? 0 : 1;
    const std::string head = std::string(plant.id) + " (" + std::string(plant.what) + "): ";
    const std::string tail = found.failure ? "caught\n" + prop::failure_block(*found.failure) + "\n"
                                           : "MISSED by " + std::string(plant.property) + " in " +
                                                 std::to_string(found.cases) + " cases\n";
    if (const Status bad = write_stdout(head + tail)) return complain("plants", *bad);
  }
  const ExitCode code = tried == 0    ? ExitCode::inconclusive
                        : missed == 0 ? ExitCode::held
                                      : ExitCode::failed;
  return finish(
      "plants",
      std::to_string(tried - missed) + " of " + std::to_string(tried) + " plants caught\n", code);
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
  c->footer(kFooter);
  c->callback([o, &exit] { exit = plants(*o); });
}

}  // namespace mla::cli
