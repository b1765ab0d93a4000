// The record of a plants run, written and read.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/case/case.hpp"
#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/plants_report.hpp"
#include "properties/app/record_json.hpp"
#include "properties/files/terminal.hpp"
#include "properties/plants/plant.hpp"

namespace mla::app {
namespace {

constexpr const char* kPlantsFormat = "mla-testbed plants 1";
constexpr std::int64_t kMostCases = 1'000'000'000'000;
constexpr std::int64_t kLongestFor = 3'600'000'000;  // milliseconds, the 1000 hours of --for

// The places of plants in all_plants() ascend, so that none is there twice.
std::vector<std::string> plants_of(const nlohmann::json& ids) {
  std::vector<std::string> out;
  const prop::Plant* last = nullptr;
  for (const nlohmann::json& id : ids) {
    const prop::Plant* plant = prop::find_plant(id.get<std::string>());
    if (plant == nullptr) reject("there is no plant " + id.dump());
    if (last != nullptr && plant <= last) reject("plant " + id.dump() + " is out of order");
    last = plant;
    out.emplace_back(plant->id);
  }
  return out;
}

PlantTried tried_of(const nlohmann::json& object) {
  PlantTried t{.id = object.at("id").get<std::string>(),
               .cases = number_of(object, "cases", kMostCases),
               .smallest = object.at("case").get<std::string>(),
               .block = files::printable_lines(object.at("block").get<std::string>())};
  if (t.smallest.empty() != t.block.empty())
    reject(say("plant ", t.id, " has a case without its failure, or the reverse"));
  if (!t.smallest.empty() && !parse_case(t.smallest)) reject("'" + t.smallest + "' is no case");
  return t;
}

// The first plants of a shard: what an interrupted run has tried.
void check_tried(const PlantsReport& report) {
  std::size_t next = 0;
  for (const PlantTried& t : report.tried) {
    const auto place = static_cast<std::size_t>(
        std::find(report.plants.begin(), report.plants.end(), t.id) - report.plants.begin());
    if (place == report.plants.size() || place < next ||
        !report.shard.has(static_cast<std::int64_t>(place)))
      reject(say("plant '", t.id, "' is none of this shard, or out of order"));
    next = place + 1;
  }
}

PlantsReport report_of_plants(const nlohmann::json& document) {
  check_format(document, kPlantsFormat);
  PlantsReport out;
  out.build = document.at("build").get<std::string>();
  out.seed = seed_of(document);
  out.milliseconds = number_of(document, "for", kLongestFor);
  out.shard = shard_of(document);
  out.plants = plants_of(document.at("plants"));
  for (const nlohmann::json& one : document.at("tried")) out.tried.push_back(tried_of(one));
  check_tried(out);
  return out;
}

}  // namespace

std::string plants_record(const PlantsReport& report) {
  using Json = nlohmann::ordered_json;
  Json tried = Json::array();
  for (const PlantTried& t : report.tried)
    tried.push_back({{"id", t.id}, {"cases", t.cases}, {"case", t.smallest}, {"block", t.block}});
  return json_text({{"format", kPlantsFormat},
                    {"version", kVersion},
                    {"build", report.build},
                    {"seed", report.seed},
                    {"for", report.milliseconds},
                    {"shard", {report.shard.index, report.shard.count}},
                    {"plants", report.plants},
                    {"tried", std::move(tried)}},
                   -1);
}

bool is_plants_record(std::string_view text) {
  return text.starts_with(say("{\"format\":\"", kPlantsFormat, "\""));
}

Result<PlantsReport> read_plants_record(const std::string& path) {
  return read_json_record(path, "a plants run", report_of_plants);
}

}  // namespace mla::app
