// `mla-testbed plants`: puts known defects back and shows that their properties catch them.
#include <algorithm>
#include <memory>

#include "properties/app/backends.hpp"
#include "properties/app/plants.hpp"
#include "properties/app/selection.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/interrupt.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/cli/record_options.hpp"
#include "properties/files/terminal.hpp"
#include "properties/plants/plant.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using prop::Plant;

struct PlantsOptions : RecordOptions {
  std::vector<std::string> ids;  // empty: all
  std::string time = "60s";
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

Result<app::Record> begin(const PlantsOptions& o) {
  auto out = begin_record(app::RecordKind::plants, o);
  if (!out || !o.resume.empty()) return out;
  const auto limit = parse_duration("--for", o.time);
  if (!limit) return limit.error();
  out->milliseconds = limit->count();
  for (const Plant& plant : prop::all_plants())
    if (o.ids.empty() || std::find(o.ids.begin(), o.ids.end(), plant.id) != o.ids.end())
      out->plants.emplace_back(plant.id);
  return out;
}

// Tries what the record lacks, and says what became of each plant once it is known. Returns why
// stdout did not take that; without a file, the rest would be lost.
MaybeError try_plants(app::Record& record, const Backend& backend, const PlantsOptions& o) {
  Progress bar("plants", !o.no_progress, std::nullopt);
  const std::vector<std::string> ids = record.plants_of_shard();
  const auto progress = [&] { bar.update(std::ssize(record.items), std::ssize(ids)); };
  const bool only_told = o.written().empty() && o.publication.junit.empty();
  MaybeError lost;
  for (const std::string& id : ids) {
    const app::Item* known = record.find(id);
    if (known == nullptr) {
      auto fresh = app::try_plant(id, backend, record, interrupted, progress);
      bar.hide();
      if (!fresh) break;
      known = &record.add(std::move(*fresh));
    }
    if (!o.publication.json && !lost) lost = files::write_stdout(app::account(record, *known));
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
  auto record = begin(o);
  if (!record) return complain("plants", record.error());
  if (o.list) {
    const std::string lines = app::plants_list(*record);
    return finish("plants", lines, lines.empty() ? ExitCode::inconclusive : ExitCode::held);
  }
  if (const MaybeError bad = check_files(o.publication, o.written(), o.resume, {}))
    return complain("plants", *bad);
  const auto backends = app::make_backends("cpu", {});
  if (!backends) return complain("plants", backends.error());
  catch_interrupts();
  const MaybeError lost = try_plants(*record, *backends->front().backend, o);
  return publish("plants", *record, o, "", lost);
}

}  // namespace

void add_plants(Command& app, ExitCode& exit) {
  auto o = std::make_shared<PlantsOptions>();
  o->seed = "1";
  Command c = app.add_subcommand("plants", "Plant known defects and see them caught");
  const Option ids = c.add_option("ids", o->ids, "Plants to try; all if none is named");
  const Option time =
      c.add_option("--for", o->time, "Time for each plant").type_name("TIME").show_default();
  const Option seed =
      c.add_option("--seed", o->seed, "Seed of the random cases").type_name("N").show_default();
  const Option shard =
      c.add_option("--shard", o->shard, "Try the i-th of n shares of the plants, as 1/3")
          .type_name("i/n");
  add_record_options(c, *o, "text").excludes(ids).excludes(time).excludes(seed).excludes(shard);
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
