#include "properties/judge/ledger.hpp"

#include <algorithm>

#include "properties/claims/support/canary.hpp"

namespace mla::prop {

bool covers(const LedgerEntry& entry, const DecodeLaunch& launch, const ExecutionOptions& options) {
  const auto all = [&launch](const std::vector<Condition>& conditions) {
    return std::all_of(conditions.begin(), conditions.end(),
                       [&launch](const Condition& c) { return c.holds(launch); });
  };
  if (entry.kind.value_or(StepKind::decode) != StepKind::decode) return false;
  if (entry.timing && options.timing_seed == 0 && !options.checked) return false;
  return entry.where.empty() || std::any_of(entry.where.begin(), entry.where.end(), all);
}

bool covers(const LedgerEntry& entry, const Property& property) {
  const auto& listed = entry.properties;
  return listed.empty() || std::find(listed.begin(), listed.end(), &property) != listed.end();
}

bool covers_claim(const LedgerEntry& entry, const Property& property, StepKind kind,
                  DamageSet damage) {
  const auto& claims = entry.claims;
  return entry.kind.value_or(kind) == kind && covers(entry, property) &&
         (damage.within(entry.damage) ||
          std::find(claims.begin(), claims.end(), &property) != claims.end());
}

Ledger concerning(const Ledger& ledger, std::string_view backend, bool own_plans) {
  Ledger out;
  std::copy_if(ledger.begin(), ledger.end(), std::back_inserter(out), [&](const LedgerEntry& e) {
    return (e.backend.empty() || e.backend == backend) && (own_plans || !e.own_plans);
  });
  return out;
}

LedgerEntry canary_entry() {
  LedgerEntry entry;
  entry.id = "canary";
  entry.link = "docs/reference/ledgers.md";
  entry.mechanism = "fails on purpose, so that a run shows that it can see a failure";
  entry.properties = {&canary()};
  entry.damage = Damage::claim;
  entry.witnesses = {{canary_case(), &canary()}};
  return entry;
}

}  // namespace mla::prop
