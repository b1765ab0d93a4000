#include "properties/cli/ledger_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "properties/cli/json_fields.hpp"
#include "properties/cli/parse_json.hpp"
#include "properties/cli/terminal.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "mla-testbed ledger 1";
constexpr std::string_view kKeys[] = {"id",       "link",  "reason", "status",   "backend",
                                      "property", "where", "says",   "witnesses"};
// Fields of a case line (docs/cases.md) that a condition may name.
constexpr std::string_view kFields[] = {
    "q",      "heads", "block", "arch",      "cu",      "dtype", "gran",   "split", "causal",
    "layout", "data",  "page",  "planner",   "pad",     "spare", "scale",  "lse",   "origin",
    "sched",  "qpad",  "kind",  "workspace", "kvheads", "dim",   "window", "draft"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::vector<std::string> texts(Fields& fields, const json& list, const char* key) {
  std::vector<std::string> out;
  if (!list.is_array()) fields.reject(key, "must hold lists of strings");
  for (const json& element : list) {
    if (!element.is_string())
      fields.reject(key, "must hold lists of strings");
    else
      out.push_back(element.get<std::string>());
  }
  return out;
}

void read_conditions(const json& object, Fields& fields, prop::LedgerEntry& entry) {
  if (!fields.has("where")) return;
  const json& where = object["where"];
  if (!where.is_object()) return fields.reject("where", "must be an object");
  for (const auto& [field, values] : where.items()) {
    if (!holds(kFields, field)) return fields.reject("where", "names '" + field + "', no field");
    entry.where[field] = texts(fields, values, "where");
  }
}

void read_witnesses(const json& object, Fields& fields, prop::LedgerEntry& entry) {
  const json lines = object.value("witnesses", json::array());
  for (const std::string& line : texts(fields, lines, "witnesses")) {
    auto c = parse_case(line);
    if (!c) return fields.reject("witnesses", "holds a case that is none: " + c.error().message);
    if (!prop::covers(entry, *c))
      return fields.reject("witnesses", "holds '" + line + "', which 'where' does not cover");
    entry.witnesses.push_back(std::move(*c));
  }
  if (entry.witnesses.empty() && entry.status == prop::LedgerStatus::fails)
    fields.reject("witnesses", "is empty: an entry that must fail needs a case that does");
}

// The entry, and what is wrong with it; "" if nothing.
std::string read_entry(const json& object, prop::LedgerEntry& entry) {
  if (!object.is_object()) return "it is no object";
  Fields fields(object);
  for (const auto& [key, value] : object.items())
    if (!holds(kKeys, key)) fields.reject(key.c_str(), "is unknown");
  entry.id = fields.text("id");
  entry.link = fields.text("link");
  entry.reason = fields.text("reason");
  entry.backend = fields.text_or("backend", "");
  entry.says = fields.text_or("says", "");
  for (const auto& [key, value] : {std::pair("id", &entry.id), std::pair("link", &entry.link),
                                   std::pair("reason", &entry.reason)})
    if (value->empty() || printable(*value) != *value)
      fields.reject(key, value->empty() ? "is empty" : "holds a character that does not print");
  const std::string status = fields.text("status");
  if (status == "quarantine")
    entry.status = prop::LedgerStatus::quarantine;
  else if (status != "fails")
    fields.reject("status", "is '" + status + "', not fails or quarantine");
  const std::string property = fields.text("property");
  entry.property = prop::find_property(property);
  if (entry.property == nullptr) fields.reject("property", "is '" + property + "', which is none");
  read_conditions(object, fields, entry);
  read_witnesses(object, fields, entry);
  return fields.error();
}

}  // namespace

Result<prop::Ledger> parse_ledger(std::string_view text, const std::string& name) {
  const auto document = parse_json(text);
  const auto bad = [&name](const std::string& why) {
    return Error{ErrorCode::usage, "the ledger '" + name + "': " + why, ""};
  };
  if (!document) return bad("it " + document.error().message);
  if (!document->is_object() || document->value("format", json()) != kFormat)
    return bad(std::string("it is no JSON object of the format '") + kFormat + "'");
  const auto entries = document->find("entries");
  if (entries == document->end() || !entries->is_array()) return bad("it has no list 'entries'");
  prop::Ledger ledger;
  for (const json& object : *entries) {
    prop::LedgerEntry entry;
    if (const std::string why = read_entry(object, entry); !why.empty())
      return bad("entry " + std::to_string(ledger.size()) +
                 (entry.id.empty() ? "" : " (" + entry.id + ")") + ": " + why);
    ledger.push_back(std::move(entry));
  }
  return ledger;
}

Result<prop::Ledger> load_ledger(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  return parse_ledger(*text, path);
}

}  // namespace mla::cli
