#include "properties/app/plants_report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/merge_files.hpp"
#include "properties/app/record_json.hpp"
#include "properties/app/xml_text.hpp"
#include "properties/files/terminal.hpp"
#include "properties/plants/origins.hpp"
#include "properties/plants/plant.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;
using prop::ExitCode;
using prop::Plant;

// Of a plant that is there: reading a record, and choosing, see to that.
const Plant& plant_of(const std::string& id) {
  return *prop::find_plant(id);
}

std::string address_of(const std::string& id) {
  const prop::Origin* origin = prop::find_origin(id);
  return origin == nullptr ? std::string() : std::string(origin->address);
}

// Of one that was not caught.
std::string why_not_caught(const PlantTried& t) {
  if (!t.missed()) return "inconclusive, --for ended before the first case";
  return say("MISSED by ", plant_of(t.id).property, " in ", t.cases, " cases");
}

std::string testcase(const PlantsReport& report, const std::string& id) {
  const PlantTried* tried = report.find(id);
  std::string out = say("    <testcase", attribute("classname", "mla-testbed.plants"),
                        attribute("name", id), ">\n");
  if (tried == nullptr)
    out += say("      <error", attribute("message", "was not tried"), "/>\n");
  else if (!tried->caught())
    out += say("      <", tried->missed() ? "failure" : "error",
               attribute("message", why_not_caught(*tried)), "/>\n");
  const std::string found = tried == nullptr ? "" : "\n" + tried->block;
  return say(out, "      <system-out>", xml(say(plant_of(id).what, found)),
             "</system-out>\n    </testcase>\n");
}

}  // namespace

std::vector<std::string> PlantsReport::of_shard() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < plants.size(); ++i)
    if (shard.has(static_cast<std::int64_t>(i))) out.push_back(plants[i]);
  return out;
}

const PlantTried* PlantsReport::find(std::string_view id) const {
  const auto at =
      std::find_if(tried.begin(), tried.end(), [&](const PlantTried& t) { return t.id == id; });
  return at == tried.end() ? nullptr : &*at;
}

const PlantTried& PlantsReport::add(PlantTried one) {
  const auto place = [&](const PlantTried& t) {
    return std::find(plants.begin(), plants.end(), t.id);
  };
  const auto after =
      std::upper_bound(tried.begin(), tried.end(), one,
                       [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return *tried.insert(after, std::move(one));
}

std::int64_t PlantsReport::caught() const {
  return std::count_if(tried.begin(), tried.end(), [](const PlantTried& t) { return t.caught(); });
}

std::int64_t PlantsReport::missed() const {
  return std::count_if(tried.begin(), tried.end(), [](const PlantTried& t) { return t.missed(); });
}

ExitCode PlantsReport::exit_code() const {
  if (missed() > 0) return ExitCode::failed;
  return wanted() == 0 || caught() < wanted() ? ExitCode::inconclusive : ExitCode::held;
}

std::string plant_account(const PlantTried& t) {
  const std::string head = say(t.id, " (", plant_of(t.id).what, "): ");
  return t.caught() ? say(head, "caught\n", t.block, "\n") : say(head, why_not_caught(t), "\n");
}

std::string plants_table(const PlantsReport& report) {
  std::string out = "plant                  by    cases  smallest case, report\n";
  for (const PlantTried& t : report.tried) {
    char row[64];
    std::snprintf(row, sizeof row, "%-22s %-4s %6lld  ", t.id.c_str(),
                  std::string(plant_of(t.id).property).c_str(), static_cast<long long>(t.cases));
    const std::string address = address_of(t.id);
    out += say(row,
               t.caught()   ? t.smallest
               : t.missed() ? "MISSED"
                            : "inconclusive",
               address.empty() ? "" : "  ", address, "\n");
  }
  if (std::ssize(report.tried) < report.wanted())
    out +=
        say("interrupted: ", report.tried.size(), " of ", report.wanted(), " plants were tried\n");
  return say(out, report.caught(), " of ", report.tried.size(), " plants caught\n");
}

std::string plants_json(const PlantsReport& report) {
  Json plants = Json::array();
  for (const std::string& id : report.of_shard()) {
    const PlantTried* t = report.find(id);
    const Plant& plant = plant_of(id);
    plants.push_back({{"id", id},
                      {"property", plant.property},
                      {"what", plant.what},
                      {"report", address_of(id)},
                      {"verdict", t == nullptr  ? "not tried"
                                  : t->caught() ? "caught"
                                  : t->missed() ? "missed"
                                                : "inconclusive"},
                      {"cases", t == nullptr ? 0 : t->cases},
                      {"case", t == nullptr ? "" : t->smallest},
                      {"block", t == nullptr ? "" : t->block}});
  }
  return json_text({{"command", "plants"},
                    {"seed", report.seed},
                    {"exit_code", static_cast<int>(report.exit_code())},
                    {"plants", std::move(plants)}},
                   2);
}

std::string plants_junit(const PlantsReport& report) {
  std::string cases;
  for (const std::string& id : report.of_shard()) cases += testcase(report, id);
  return junit_document("plants", report.wanted(), report.missed(),
                        report.wanted() - report.caught() - report.missed(), cases);
}

MaybeError merge_into(PlantsReport& all, const PlantsReport& one, const std::string& file,
                      const std::string& first) {
  if (one.seed != all.seed) return of_another_run(file, first, "the seeds");
  if (one.milliseconds != all.milliseconds)
    return of_another_run(file, first, "the times of --for");
  if (one.plants != all.plants) return of_another_run(file, first, "the plants");
  for (const PlantTried& t : one.tried) all.add(t);
  return std::nullopt;
}

}  // namespace mla::app
