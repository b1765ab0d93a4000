// The record of a plants run: read, written, merged and shown.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/case/case.hpp"
#include "core/say.hpp"
#include "properties/app/record_form.hpp"
#include "properties/files/printable.hpp"
#include "properties/plants/origins.hpp"
#include "properties/plants/plant.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;
using prop::Plant;

constexpr std::int64_t kMostCases = 1'000'000'000'000;
constexpr std::int64_t kLongestFor = 3'600'000'000;  // milliseconds, the 1000 hours of --for

// Of a plant that is there: reading a record, and choosing, see to that.
const Plant& plant_of(const std::string& id) {
  return *prop::find_plant(id);
}

std::string address_of(const std::string& id) {
  const prop::Origin* origin = prop::find_origin(id);
  return origin == nullptr ? std::string() : std::string(origin->address);
}

Item read_tried(files::Fields& fields) {
  Item t{.name = fields.text("id"), .judged = fields.whole("cases", kMostCases)};
  const std::string smallest = fields.text("case");
  const std::string block = files::printable_lines(fields.text("block"));
  if (smallest.empty() != block.empty())
    fields.refuse(say("plant ", t.name, " has a case without its failure, or the reverse"));
  if (smallest.empty()) return t;
  if (!parse_case(smallest)) fields.refuse("'" + smallest + "' is no case");
  t.failed = 1;
  t.findings = {{.input = smallest, .what = block}};
  return t;
}

void read_plants(files::Fields& fields, Record& record) {
  record.seed = fields.natural("seed");
  record.milliseconds = fields.whole("for", kLongestFor);
  record.plants = fields.texts("plants");
  // The places of plants in all_plants() ascend, so that none is there twice.
  const Plant* last = nullptr;
  for (const std::string& id : record.plants) {
    const Plant* plant = prop::find_plant(id);
    if (plant == nullptr) return fields.refuse("there is no plant '" + id + "'");
    if (last != nullptr && plant <= last) fields.refuse("plant '" + id + "' is out of order");
    last = plant;
  }
  // The first plants of a shard: what an interrupted run has tried.
  std::size_t next = 0;
  fields.each("tried", [&](files::Fields& one) {
    record.items.push_back(read_tried(one));
    const std::string& id = record.items.back().name;
    const auto place = static_cast<std::size_t>(
        std::find(record.plants.begin(), record.plants.end(), id) - record.plants.begin());
    if (place == record.plants.size() || place < next ||
        !record.shard.has(static_cast<std::int64_t>(place)))
      one.refuse(say("plant '", id, "' is none of this shard, or out of order"));
    next = place + 1;
  });
}

// The case that caught a plant, and its block; empty ones if it was not caught.
Finding found(const Item* tried) {
  return tried != nullptr && tried->caught() ? tried->findings.front() : Finding{};
}

void write_plants(const Record& record, Json& out) {
  Json tried = Json::array();
  for (const Item& t : record.items) {
    const Finding by = found(&t);
    tried.push_back({{"id", t.name}, {"cases", t.judged}, {"case", by.input}, {"block", by.what}});
  }
  out.update({{"build", record.build},
              {"seed", record.seed},
              {"for", record.milliseconds},
              {"shard", {record.shard.index, record.shard.count}},
              {"plants", record.plants},
              {"tried", std::move(tried)}});
}

std::string add_plants(Record& all, const Record& one) {
  if (one.seed != all.seed) return "the seeds";
  if (one.milliseconds != all.milliseconds) return "the times of --for";
  if (one.plants != all.plants) return "the plants";
  for (const Item& t : one.items) all.add(t);
  return {};
}

// Of one that was not caught.
std::string why_not_caught(const Item& t) {
  if (!t.missed()) return "inconclusive, --for ended before the first case";
  return say("MISSED by ", plant_of(t.name).property, " in ", t.judged, " cases");
}

std::string plant_account(const Record& /*record*/, const Item& t) {
  const std::string head = say(t.name, " (", plant_of(t.name).what, "): ");
  return t.caught() ? say(head, "caught\n", found(&t).what, "\n")
                    : say(head, why_not_caught(t), "\n");
}

RecordRow plant_row(const std::string& id, const Item* tried) {
  const Plant& plant = plant_of(id);
  const std::string address = address_of(id);
  const Finding by = found(tried);
  const std::int64_t cases = tried == nullptr ? 0 : tried->judged;
  RecordRow row;
  const char* verdict = "caught";
  if (tried == nullptr || !tried->caught()) {
    const bool missed = tried != nullptr && tried->missed();
    verdict = tried == nullptr ? "not tried" : missed ? "missed" : "inconclusive";
    row.junit.outcome = missed ? JunitOutcome::failure : JunitOutcome::error;
    row.junit.notes = {{tried == nullptr ? "was not tried" : why_not_caught(*tried), ""}};
  }
  if (tried != nullptr) {
    char head[64];
    std::snprintf(head, sizeof head, "%-22s %-4s %6lld  ", id.c_str(),
                  std::string(plant.property).c_str(), static_cast<long long>(cases));
    row.line = say(head,
                   tried->caught()   ? by.input
                   : tried->missed() ? "MISSED"
                                     : "inconclusive",
                   address.empty() ? "" : "  ", address);
  }
  row.object = {{"id", id},           {"property", plant.property},
                {"what", plant.what}, {"report", address},
                {"verdict", verdict}, {"cases", cases},
                {"case", by.input},   {"block", by.what}};
  row.junit.name = id;
  row.junit.said = say(plant.what, tried == nullptr ? "" : "\n", by.what);
  return row;
}

std::vector<RecordRow> plant_rows(const Record& record) {
  std::vector<RecordRow> rows;
  for (const std::string& id : record.plants_of_shard())
    rows.push_back(plant_row(id, record.find(id)));
  return rows;
}

std::string plants_ending(const Record& record) {
  const std::int64_t wanted = record.shard.of(std::ssize(record.plants));
  const std::size_t tried = record.items.size();
  return say(std::cmp_less(tried, wanted)
                 ? say("interrupted: ", tried, " of ", wanted, " plants were tried\n")
                 : "",
             std::count_if(record.items.begin(), record.items.end(),
                           [](const Item& t) { return t.caught(); }),
             " of ", tried, " plants caught\n");
}

}  // namespace

const RecordForm kPlantsForm = {
    .format = "mla-testbed plants 1",
    .what = "a plants run",
    .read = read_plants,
    .write = write_plants,
    .add = add_plants,
    .command = "plants",
    .items = "plants",
    .head = "plant                  by    cases  smallest case, report\n",
    .rows = plant_rows,
    .ending = plants_ending,
    .account = plant_account};

}  // namespace mla::app
