#include "properties/judge/run_report.hpp"

#include <algorithm>

#include "properties/judge/tags.hpp"

namespace mla::prop {

std::vector<TagTally> RunReport::missed_quotas() const {
  std::vector<TagTally> missed;
  for (const TagTally& tag : tags)
    if (random_cases >= kQuotaCases && tag.cases * tag.one_in < random_cases) missed.push_back(tag);
  return missed;
}

ExitCode RunReport::exit_code() const {
  if (!failures.empty()) return ExitCode::failed;
  const auto any = [this](Verdict verdict) {
    return std::any_of(ledger.begin(), ledger.end(),
                       [verdict](const LedgerTally& t) { return t.verdict == verdict; });
  };
  if (any(Verdict::unexpected_pass)) return ExitCode::unexpected_pass;
  if (any(Verdict::inconclusive) || !missed_quotas().empty()) return ExitCode::inconclusive;
  const bool ran =
      std::any_of(tallies.begin(), tallies.end(), [](const PropertyTally& t) { return t.ran > 0; });
  const bool settled = std::all_of(tallies.begin(), tallies.end(), [](const PropertyTally& t) {
    return t.unsettled == 0 && (t.ran > 0 || !t.never_applies.empty());
  });
  const bool whole = !gave_up && !interrupted && too_large == 0;
  return ran && settled && whole ? ExitCode::held : ExitCode::inconclusive;
}

}  // namespace mla::prop
