#include "properties/ledger.hpp"

#include <algorithm>

namespace mla::prop {
namespace {

std::string query_length(const Case& c) {
  if (c.requests.empty()) return "";
  const std::int64_t first = c.requests.front().qo_len;
  const auto same = [first](const RequestSpec& r) { return r.qo_len == first; };
  const bool uniform = std::all_of(c.requests.begin(), c.requests.end(), same);
  return uniform ? std::to_string(first) : "ragged";
}

// The value of a field in the line of a case, which is `mla1:<requests>;key=value;...`.
std::string field_of(const Case& c, const std::string& line, const std::string& key) {
  if (key == "q") return query_length(c);
  const std::string label = ";" + key + "=";
  const std::size_t at = line.find(label);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + label.size();
  return line.substr(begin, line.find(';', begin) - begin);
}

}  // namespace

bool covers(const LedgerEntry& entry, const Case& c) {
  const std::string line = format_case(c);
  return std::all_of(entry.where.begin(), entry.where.end(), [&](const auto& condition) {
    const auto& [key, values] = condition;
    return std::find(values.begin(), values.end(), field_of(c, line, key)) != values.end();
  });
}

const LedgerEntry* quarantined(const Ledger& ledger, const Property& property, const Case& c) {
  for (const LedgerEntry& entry : ledger)
    if (entry.status == LedgerStatus::quarantine && entry.property == &property && covers(entry, c))
      return &entry;
  return nullptr;
}

const LedgerEntry* known_failure(const Ledger& ledger, const Property& property, const Case& c,
                                 const Outcome& outcome) {
  for (const LedgerEntry& entry : ledger)
    if (entry.status == LedgerStatus::fails && entry.property == &property &&
        outcome.message.find(entry.says) != std::string::npos && covers(entry, c))
      return &entry;
  return nullptr;
}

Ledger concerning(const Ledger& ledger, std::string_view backend,
                  const std::vector<const Property*>& properties) {
  Ledger out;
  for (const LedgerEntry& entry : ledger) {
    const bool here = entry.backend.empty() || entry.backend == backend;
    const bool asked =
        std::find(properties.begin(), properties.end(), entry.property) != properties.end();
    if (here && asked) out.push_back(entry);
  }
  return out;
}

}  // namespace mla::prop
