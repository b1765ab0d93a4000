// Ledger: what is known to be broken, one entry for each finding.
//
// A finding names the launches that its mechanism breaks, by a condition on what they decided, and
// the ways in which their results are wrong. It covers the failure of a property if every launch
// of that failure whose result was wrong meets the condition and is wrong in a listed way; so a
// second defect in the same region is not hidden. A covered failure is counted and makes no run
// fail. Witnesses are judged by every run: one that passes says that the entry is out of date.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/case/case.hpp"
#include "properties/step/damage.hpp"
#include "properties/step/decode/step_facts.hpp"
#include "properties/step/property.hpp"

namespace mla::prop {

enum class LedgerStatus : std::uint8_t {
  fails,         // a covered launch breaks; has witnesses
  intermittent,  // it may break, as where it depends on the schedule; no witness is needed
};

struct Witness {
  Case c;
  const Property* property = nullptr;
};

struct LedgerEntry {
  std::string id;  // AITER-07, BUG-058, or a name of one's own
  std::string link;
  std::string mechanism;             // what is broken, in a sentence
  std::vector<std::string> kernels;  // names, or beginnings of names, for the reader
  LedgerStatus status = LedgerStatus::fails;
  std::optional<StepKind> kind;               // of the cases; empty: every kind
  std::string backend;                        // as `run --backend` names it; empty: every backend
  std::vector<const Property*> properties;    // only these; empty: all
  std::vector<std::vector<Condition>> where;  // one of these, each in full; empty: every launch
  // Only launches under a drawn timing or under the checks (ExecutionOptions), which other entries
  // cover as they cover the default timing.
  bool timing = false;
  bool own_plans = false;  // only of a backend that plans itself (Backend::planner)
  std::string says;        // only failures whose sentence holds this; empty: any
  DamageSet damage;
  // That fail though each launch is within its bounds, as where a bit must not change.
  std::vector<const Property*> claims;
  std::vector<Witness> witnesses;
};

using Ledger = std::vector<LedgerEntry>;

// Whether the launch meets the condition of the entry.
bool covers(const LedgerEntry& entry, const DecodeLaunch& launch, const ExecutionOptions& options);
bool covers(const LedgerEntry& entry, const Property& property);
// Whether the entry covers the property's failure, for a step of that kind, where no launch is
// wrong and the property saw this damage, or Damage::claim.
bool covers_claim(const LedgerEntry& entry, const Property& property, StepKind kind,
                  DamageSet damage);

// The entries for a backend that is named so, and plans itself or not.
Ledger concerning(const Ledger& ledger, std::string_view backend, bool own_plans);

// Of the canary: its failures are known, and its witness must fail.
LedgerEntry canary_entry();

}  // namespace mla::prop
