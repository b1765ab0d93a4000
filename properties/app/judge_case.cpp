#include "properties/app/judge_case.hpp"

namespace mla::app {

using prop::ExitCode;
using prop::Verdict;

ExitCode JudgedCase::exit_code() const {
  if (failed > 0) return ExitCode::failed;
  if (unsettled > 0) return ExitCode::inconclusive;
  return judgement.refused || held == 0 ? ExitCode::skipped : ExitCode::held;
}

JudgedCase judge_case(const CaseQuestion& question, const NamedBackend& named) {
  JudgedCase out{.judgement = prop::judge(question.spec, question.properties, *named.backend,
                                          question.defect, {}, question.stopped, question.limits),
                 .failure = {}};
  for (std::size_t p = 0; p < question.properties.size(); ++p) {
    const prop::Outcome& outcome = out.judgement.outcomes[p];
    out.held += outcome.verdict == Verdict::pass ? 1 : 0;
    out.unsettled += outcome.verdict == Verdict::inconclusive ? 1 : 0;
    if (outcome.verdict != Verdict::fail) continue;
    ++out.failed;
    if (out.failure) {
      out.failure->also.push_back({question.properties[p], outcome});
      continue;
    }
    out.failure = prop::Failure{.property = question.properties[p],
                                .smallest = question.spec,
                                .original = question.spec,
                                .outcome = outcome,
                                .replay_options = named.replay_options + question.options};
  }
  return out;
}

}  // namespace mla::app
