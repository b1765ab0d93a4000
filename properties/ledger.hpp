// Ledger: what is known to fail or cannot be judged, each with an id, a link and a reason.
//
// An entry covers the cases of one property on one backend whose fields have the listed values. A
// covered failure is counted and reddens nothing; every entry that must fail has witnesses, cases
// that every run judges, and a witness that passes is an unexpected pass: the entry is out of date.
// Quarantined cases are not judged at all. Fails: never; files: properties/cli/ledger_file.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/case/case.hpp"
#include "properties/property.hpp"

namespace mla::prop {

enum class LedgerStatus : std::uint8_t {
  fails,       // must fail
  quarantine,  // neither result says anything, as where it depends on the schedule
};

struct LedgerEntry {
  std::string id;  // BUG-058, or a name of one's own
  std::string link;
  std::string reason;
  LedgerStatus status = LedgerStatus::fails;
  std::string backend;  // as `run --backend` names it; empty: every backend
  const Property* property = nullptr;
  // Values that a field of the case line must have, one of several; a field that the line leaves
  // out is compared as "". `q` is the query length of all requests, or "ragged".
  std::map<std::string, std::vector<std::string>> where;
  std::string says;  // a failure is covered only if its sentence holds this; empty: any sentence
  std::vector<Case> witnesses;
};

using Ledger = std::vector<LedgerEntry>;

// Whether the case has the fields of the entry.
bool covers(const LedgerEntry& entry, const Case& c);

// The first entry that keeps the property from judging the case, or nullptr.
const LedgerEntry* quarantined(const Ledger& ledger, const Property& property, const Case& c);
// The first entry that lists this failure, or nullptr.
const LedgerEntry* known_failure(const Ledger& ledger, const Property& property, const Case& c,
                                 const Outcome& outcome);

// The entries that concern a backend and some of the properties.
Ledger concerning(const Ledger& ledger, std::string_view backend,
                  const std::vector<const Property*>& properties);

}  // namespace mla::prop
