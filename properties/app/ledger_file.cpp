#include "properties/app/ledger_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/app/backends.hpp"
#include "properties/files/json_fields.hpp"
#include "properties/files/parse_json.hpp"
#include "properties/files/printable.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {
namespace {

using nlohmann::json;
using prop::Condition;

constexpr const char* kLedgerFormat = "mla-testbed ledger 2";
constexpr const char* kFirstFormat = "mla-testbed ledger 1";
constexpr std::string_view kKeys[] = {"id",        "link",       "mechanism", "kernels",   "status",
                                      "backend",   "properties", "where",     "damage",    "claims",
                                      "witnesses", "kind",       "timing",    "own_plans", "says"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

template <class List>
std::string listing(const List& list) {
  std::string out;
  for (const std::string_view word : list) out += say(out.empty() ? "" : ", ", word);
  return out;
}

std::vector<std::string> texts(files::Fields& fields, const char* key) {
  return fields.has(key) ? fields.texts(key) : std::vector<std::string>();
}

// One value of a condition, and what is wrong with it; "" if nothing.
std::string read_value(const json& value, Condition& condition) {
  const prop::Fact& fact = *condition.fact;
  const std::string where = say("has '", fact.name, "': ", value.dump(), "; expected ");
  if (!fact.words.empty()) {
    if (!value.is_string() || !holds(fact.words, value.get<std::string>()))
      return where + "one of " + listing(fact.words);
    condition.words.push_back(value.get<std::string>());
    return {};
  }
  if (fact.truth) {
    if (!value.is_boolean()) return where + "true or false";
    const std::int64_t truth = value.get<bool>() ? 1 : 0;
    condition.ranges.push_back({truth, truth});
    return {};
  }
  Condition::Range range;
  bool good = value.is_number_integer();
  if (good) range = {value.get<std::int64_t>(), value.get<std::int64_t>()};
  if (value.is_object() && !value.empty()) {
    good = true;
    for (const auto& [end, number] : value.items()) {
      good = good && (end == "min" || end == "max") && number.is_number_integer();
      if (good) (end == "min" ? range.min : range.max) = number.get<std::int64_t>();
    }
  }
  if (!good) return where + R"(a number or {"min": number, "max": number})";
  if (range.min > range.max) return where + "a min that is not above its max";
  condition.ranges.push_back(range);
  return {};
}

// One alternative of `where`: every condition has to hold.
std::string read_conditions(const json& object, std::vector<Condition>& conditions) {
  if (!object.is_object() || object.empty())
    return "must be an object with a fact, or a list of such";
  for (const auto& [name, value] : object.items()) {
    Condition condition;
    condition.fact = prop::find_fact(name);
    if (condition.fact == nullptr) {
      std::string known;
      for (const prop::Fact& f : prop::all_facts()) known += say(known.empty() ? "" : ", ", f.name);
      return "names '" + name + "'; a launch decides " + known;
    }
    const json values = value.is_array() ? value : json::array({value});
    if (values.empty()) return "has '" + name + "': []; expected at least one value";
    for (const json& one : values)
      if (std::string why = read_value(one, condition); !why.empty()) return why;
    conditions.push_back(std::move(condition));
  }
  return {};
}

void read_where(const json& object, files::Fields& fields, prop::LedgerEntry& entry) {
  if (!fields.has("where")) return;
  const json& where = object["where"];
  const json alternatives = where.is_array() ? where : json::array({where});
  if (alternatives.empty()) fields.reject("where", "is an empty list; leave the key out");
  for (const json& one : alternatives) {
    entry.where.emplace_back();
    if (const std::string why = read_conditions(one, entry.where.back()); !why.empty())
      return fields.reject("where", why);
  }
}

// An entry of a backend that does not exist would never be asked about.
void read_backend(files::Fields& fields, prop::LedgerEntry& entry) {
  if (!fields.has("backend")) return;
  entry.backend = fields.text("backend");
  const std::vector<std::string> names = known_backends();
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (!holds(known, entry.backend))
    fields.reject("backend", "is '" + entry.backend + "', which is none" +
                                 did_you_mean_or_all(entry.backend, known));
}

// Conditions are about launches of a decode. What a prefill step shows is seen by properties alone.
void read_kind(files::Fields& fields, prop::LedgerEntry& entry) {
  if (!fields.has("kind")) return;
  const std::string word = fields.text("kind");
  for (const StepKind kind : kStepKinds)
    if (name(kind) == word) entry.kind = kind;
  if (!entry.kind) fields.reject("kind", "is '" + word + "', not decode, prefill or fa");
  if (entry.kind != StepKind::decode && fields.has("where"))
    fields.reject("where", "is about decode steps: leave it out for kind " + word);
  prop::DamageSet seen = prop::Damage::claim;
  if (entry.kind == StepKind::prefill)
    for (const prop::Damage damage : {prop::Damage::nan, prop::Damage::value}) seen.add(damage);
  if (entry.kind != StepKind::decode && !entry.damage.within(seen))
    fields.reject("damage",
                  "is of a decode's results: for kind " + word + " it is of " + text_of(seen));
}

void read_damage(files::Fields& fields, prop::LedgerEntry& entry) {
  for (const std::string& word : texts(fields, "damage")) {
    const auto damage = prop::damage_from_name(word);
    if (!damage)
      return fields.reject("damage",
                           "holds '" + word + "'; expected " + listing(prop::kDamageNames));
    entry.damage.add(*damage);
  }
  if (entry.damage.none())
    fields.reject("damage",
                  "is empty: say how a result is wrong, of " + listing(prop::kDamageNames));
}

const prop::Property* property_of(files::Fields& fields, const char* key, const std::string& id) {
  const prop::Property* property = prop::find_property(id);
  if (property == nullptr) fields.reject(key, "names property '" + id + "', which is none");
  return property;
}

void read_witnesses(const json& object, files::Fields& fields, prop::LedgerEntry& entry) {
  const json list = object.value("witnesses", json::array());
  for (const json& one : list) {
    if (!list.is_array() || !one.is_object() || one.size() != 2)
      return fields.reject("witnesses", R"(must be a list of {"case": line, "property": id})");
    files::Fields witness(one);
    auto c = parse_case(witness.text("case"));
    const prop::Property* property = property_of(fields, "witnesses", witness.text("property"));
    if (!witness.error().empty()) return fields.reject("witnesses", witness.error());
    if (!c) return fields.reject("witnesses", "holds a case that is none: " + c.error().message);
    if (property == nullptr) return;
    if (!prop::covers(entry, *property))
      return fields.reject("witnesses",
                           say("names ", property->id, ", which is not among 'properties'"));
    entry.witnesses.push_back({std::move(*c), property});
  }
  if (entry.witnesses.empty() && entry.status == prop::LedgerStatus::fails)
    fields.reject("witnesses", "is empty: a finding that fails needs a case that does");
}

// The entry, and what is wrong with it; "" if nothing.
std::string read_entry(const json& object, prop::LedgerEntry& entry) {
  if (!object.is_object()) return "it is not an object";
  files::Fields fields(object);
  for (const auto& [key, value] : object.items())
    if (!holds(kKeys, key)) fields.reject(key.c_str(), "is unknown; there are " + listing(kKeys));
  entry.id = fields.text("id");
  entry.link = fields.text("link");
  entry.mechanism = fields.text("mechanism");
  read_backend(fields, entry);
  for (const auto& [key, value] : {std::pair("id", &entry.id), std::pair("link", &entry.link),
                                   std::pair("mechanism", &entry.mechanism)})
    if (value->empty() || files::printable(*value) != *value)
      fields.reject(key, value->empty() ? "is empty" : "holds a character that does not print");
  const std::string status = fields.text("status");
  if (status == "intermittent")
    entry.status = prop::LedgerStatus::intermittent;
  else if (status != "fails")
    fields.reject("status", "is '" + status + "', not fails or intermittent");
  entry.kernels = texts(fields, "kernels");
  for (const std::string& id : texts(fields, "properties"))
    entry.properties.push_back(property_of(fields, "properties", id));
  for (const std::string& id : texts(fields, "claims"))
    entry.claims.push_back(property_of(fields, "claims", id));
  read_where(object, fields, entry);
  entry.timing = fields.truth_or("timing", false);
  entry.own_plans = fields.truth_or("own_plans", false);
  if (fields.has("says")) entry.says = fields.text("says");
  read_damage(fields, entry);
  read_kind(fields, entry);
  read_witnesses(object, fields, entry);
  return fields.error();
}

}  // namespace

Result<prop::Ledger> parse_ledger(std::string_view text, const std::string& name) {
  const auto document = files::parse_json(text);
  const auto bad = [&name](const std::string& why) {
    return Error{ErrorCode::usage, "the ledger '" + name + "': " + why};
  };
  if (!document) return bad("it " + document.error().message);
  const json format = document->is_object() ? document->value("format", json()) : json();
  if (format == kFirstFormat)
    return bad(say("its format is '", kFirstFormat,
                   "', one entry for each property; this version reads '", kLedgerFormat,
                   "', one entry for each finding: write it anew (docs/reference/ledgers.md)"));
  if (format != kLedgerFormat)
    return bad(say("it is not a JSON object of the format '", kLedgerFormat, "'"));
  const auto entries = document->find("entries");
  if (entries == document->end() || !entries->is_array()) return bad("it has no list 'entries'");
  prop::Ledger ledger;
  for (const json& object : *entries) {
    prop::LedgerEntry entry;
    if (const std::string why = read_entry(object, entry); !why.empty())
      return bad(
          say("entry ", ledger.size(), entry.id.empty() ? "" : " (" + entry.id + ")", ": ", why));
    // Reports tell findings apart by their id.
    for (std::size_t before = 0; before < ledger.size(); ++before)
      if (ledger[before].id == entry.id)
        return bad(
            say("entries ", before, " and ", ledger.size(), " have the same id '", entry.id, "'"));
    ledger.push_back(std::move(entry));
  }
  return ledger;
}

Result<prop::Ledger> load_ledger(const std::string& path) {
  const auto text = files::read_file(path);
  if (!text) return text.error();
  return parse_ledger(*text, path);
}

}  // namespace mla::app
