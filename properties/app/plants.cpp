#include "properties/app/plants.hpp"

#include <chrono>
#include <memory>
#include <set>
#include <vector>

#include "core/say.hpp"
#include "properties/app/backends.hpp"
#include "properties/judge/runner.hpp"
#include "properties/plants/origins.hpp"
#include "properties/plants/plant.hpp"

namespace mla::app {

using prop::Plant;

namespace {

// Random cases until the property fails or the time is over.
prop::RunReport hunt(const Plant& plant, const Backend& backend, std::uint64_t seed,
                     std::chrono::milliseconds limit, const prop::Stopped& stopped,
                     const std::function<void()>& progress) {
  const std::unique_ptr<prop::Interposer> defect = plant.make();
  prop::RunOptions run;
  run.properties = {prop::find_property(plant.property)};
  run.backend = &backend;
  run.interposer = defect.get();
  run.replay_options = plant_option(plant.id);
  run.seed = seed;
  run.widths = plant.widths;
  run.time_limit = limit;
  run.stopped = stopped;
  run.progress = [&progress](std::int64_t, std::int64_t) { progress(); };
  return prop::run_properties(run);
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

These are the defects from which this project started, and those of sparse attention, with their
public reports. A plant puts a defect back on purpose, and the property in its row must catch it.
*Imitated*: the plant edits what a launch returned; all others break the stage that was broken.
`mla-testbed plants --table` writes this page.

| Defect | Report | Caught by | What is planted, or why nothing is |
| --- | --- | --- | --- |
)";

std::string sentence(const Plant& p) {
  return say(p.what, p.imitated ? " *Imitated.*" : "");
}

struct Row {
  std::string caught;  // the properties, each once
  std::string what;    // the sentences; of several plants, each with its name and property
};

Row row_of(const std::vector<const Plant*>& plants) {
  Row row;
  std::set<std::string_view> named;
  for (const Plant* const p : plants) {
    if (named.insert(p->property).second)
      row.caught += say(row.caught.empty() ? "" : ", ", p->property);
    row.what += row.what.empty() ? "" : " ";
    if (plants.size() > 1) row.what += say(p->id, " (", p->property, "): ");
    row.what += sentence(*p);
  }
  return row;
}

}  // namespace

std::optional<Item> try_plant(const std::string& id, const Backend& backend, const Record& record,
                              const prop::Stopped& stopped, const std::function<void()>& progress) {
  const prop::RunReport run =
      hunt(*prop::find_plant(id), backend, record.seed,
           std::chrono::milliseconds(record.milliseconds), stopped, progress);
  if (run.interrupted && run.failures.empty()) return std::nullopt;
  Item tried{.name = id, .judged = run.cases};
  if (!run.failures.empty()) {
    const prop::Failure& failure = run.failures.front();
    tried.failed = 1;
    tried.findings = {
        {.input = format_case(failure.smallest), .what = prop::failure_block(failure)}};
  }
  return tried;
}

std::string plants_list(const Record& record) {
  std::string out;
  for (const std::string& id : record.plants_of_shard()) {
    const Plant& p = *prop::find_plant(id);
    out += say(p.id, "  ", p.property, "  ", p.what, "\n");
  }
  return out;
}

std::string plants_page() {
  std::string out = kTableHead;
  std::int64_t planted = 0;
  for (const prop::Origin& origin : prop::all_origins()) {
    std::vector<const Plant*> plants;
    for (const Plant& p : prop::all_plants())
      if (prop::find_origin(p.id) == &origin) plants.push_back(&p);
    const auto [caught, what] = row_of(plants);
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
  return out;
}

}  // namespace mla::app
