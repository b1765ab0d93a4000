// `mla-testbed plants`: puts known defects back and shows that their properties catch them.
#include <algorithm>
#include <memory>

#include "properties/app/backends.hpp"
#include "properties/app/plants_report.hpp"
#include "properties/app/selection.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"
#include "properties/plants/plant.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::Plant;

struct PlantsOptions {
  std::vector<std::string> ids;  // empty: all
  std::string time = "60s";
  std::string seed = "1";
  std::string shard;   // empty: all
  std::string record;  // empty: none is written
  std::string resume;  // empty: a new run
  std::string junit;   // empty: none is written
  bool json = false;
  bool no_progress = false;
  bool list = false;
  bool table = false;
};

constexpr const char* kPlantsFooter = R"(
Every plant is a known defect, with the property that must catch it. The command puts it into the
running program and draws random cases until the property fails. If no case catches a plant within
--for, the exit code is 1: the judge would have missed this defect. If --for ended before the first
case, the plant is inconclusive, and the exit code 4. --shard 1/3 tries every third of the plants, or
lists it; `merge` makes one report of the records.

Examples:
  mla-testbed plants --list
  mla-testbed plants BUG-021
  mla-testbed plants --for 10s
  mla-testbed plants --shard 1/3 --record plants1.json
  mla-testbed plants --resume plants1.json)";

// The report to begin with: an empty one, or that of a run that ended early.
Result<app::PlantsReport> begin(const PlantsOptions& o) {
  if (!o.resume.empty()) {
    auto begun = app::read_plants_record(o.resume);
    if (begun)
      if (const MaybeError bad = app::check_build(begun->build, o.resume)) return *bad;
    return begun;
  }
  const auto shard = parse_shard(o.shard.empty() ? "1/1" : o.shard);
  if (!shard) return shard.error();
  const auto limit = parse_duration("--for", o.time);
  if (!limit) return limit.error();
  const auto seed = parse_seed("--seed", o.seed);
  if (!seed) return seed.error();
  app::PlantsReport out;
  out.seed = *seed;
  out.milliseconds = limit->count();
  out.shard = *shard;
  for (const Plant& plant : prop::all_plants())
    if (o.ids.empty() || std::find(o.ids.begin(), o.ids.end(), plant.id) != o.ids.end())
      out.plants.emplace_back(plant.id);
  return out;
}

// Tries what the report lacks, and says what became of each plant once it is known. Returns why
// stdout did not take that; without a file, the rest would be lost.
MaybeError try_plants(app::PlantsReport& report, const Backend& backend, const PlantsOptions& o) {
  Progress bar("plants", !o.no_progress, std::nullopt);
  const auto progress = [&] { bar.update(std::ssize(report.tried), report.wanted()); };
  const bool only_told = o.record.empty() && o.resume.empty() && o.junit.empty();
  MaybeError lost;
  for (const std::string& id : report.of_shard()) {
    const app::PlantTried* known = report.find(id);
    if (known == nullptr) {
      auto fresh = app::try_plant(id, backend, report, interrupted, progress);
      bar.hide();
      if (!fresh) break;
      known = &report.add(std::move(*fresh));
    }
    if (!o.json && !lost) lost = files::write_stdout(app::plant_account(*known));
    if (lost && only_told) break;
  }
  return lost;
}

ExitCode plants(const PlantsOptions& o) {
  if (o.table) return finish("plants", app::plants_page(), ExitCode::held);
  for (const std::string& id : o.ids) {
    const auto plant = app::select_plant(id);
    if (const auto* none = std::get_if<app::Unselected>(&plant))
      return complain_unselected("plants", *none);
  }
  auto report = begin(o);
  if (!report) return complain("plants", report.error());
  if (o.list) {
    const std::string lines = app::plants_list(*report);
    return finish("plants", lines, lines.empty() ? ExitCode::inconclusive : ExitCode::held);
  }
  const std::string& record = o.record.empty() ? o.resume : o.record;
  if (const MaybeError bad = check_record_files(o.json, o.junit, record, o.resume))
    return complain("plants", *bad);
  const auto backends = app::make_backends("cpu", {});
  if (!backends) return complain("plants", backends.error());
  catch_interrupts();
  const MaybeError lost = try_plants(*report, *backends->front().backend, o);
  Publisher out("plants");
  out.lost_stdout(lost);
  out.file(record, [&] { return app::plants_record(*report); });
  out.file(o.junit, [&] { return app::plants_junit(*report); });
  return out.finish(o.json ? app::plants_json(*report) : app::plants_table(*report),
                    report->exit_code());
}

}  // namespace

void add_plants(Command& app, ExitCode& exit) {
  auto o = std::make_shared<PlantsOptions>();
  Command c = app.add_subcommand("plants", "Plant known defects and see them caught");
  const Option ids = c.add_option("ids", o->ids, "Plants to try; all if none is named");
  const Option time =
      c.add_option("--for", o->time, "Time for each plant").type_name("TIME").show_default();
  const Option seed =
      c.add_option("--seed", o->seed, "Seed of the random cases").type_name("N").show_default();
  const Option shard =
      c.add_option("--shard", o->shard, "Try the i-th of n shares of the plants, as 1/3")
          .type_name("i/n");
  c.add_option("--record", o->record, "Also write what was found to this file, for merge, --resume")
      .type_name("FILE");
  c.add_option("--resume", o->resume, "Go on with the run of this record, which ended early")
      .type_name("FILE")
      .excludes(ids)
      .excludes(time)
      .excludes(seed)
      .excludes(shard);
  c.add_option("--junit", o->junit, "Also write a JUnit XML report to this file").type_name("FILE");
  c.add_flag("--json", o->json, "Print one JSON object instead of the text");
  c.add_flag("--no-progress", o->no_progress, "Draw no progress bar");
  const Option list =
      c.add_flag("--list", o->list, "List the plants and the properties that catch them");
  const Option table = c.add_flag(
      "--table", o->table, "Print docs/reference/bugs.md: every known defect, planted or not");
  c.footer(kPlantsFooter);
  c.callback([o, c, list, table, &exit] {
    c.goes_only_with(list, {"ids", "shard", "resume", "no-progress"});
    c.goes_only_with(table, {"no-progress"});
    exit = plants(*o);
  });
}

}  // namespace mla::cli
