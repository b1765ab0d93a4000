#include <algorithm>
#include <utility>

#include "core/say.hpp"
#include "properties/app/judge_case.hpp"
#include "properties/app/junit.hpp"
#include "properties/app/report.hpp"

namespace mla::app {
namespace {

using prop::Verdict;

// What the property says about the failing case.
std::string message_of(const prop::Failure& f, const prop::Property& property) {
  for (const prop::Failing& other : f.also)
    if (other.property == &property) return other.outcome.message;
  return f.outcome.message;
}

JunitCase of_property(const prop::PropertyTally& t, const BackendReport& b) {
  JunitCase out{.name = say(t.property->id, " ", t.property->name)};
  switch (verdict_of(t)) {
    case Verdict::fail:
      out.outcome = JunitOutcome::failure;
      for (const prop::Failure& f : b.report.failures)
        if (f.concerns(*t.property))
          out.notes.emplace_back(message_of(f, *t.property), prop::failure_block(f));
      break;
    case Verdict::not_applicable:
      out.outcome = JunitOutcome::skipped;
      out.notes.emplace_back(remark(t), "");
      break;
    case Verdict::skip:  // no case settled it, which is no success of the run either
    case Verdict::inconclusive:
      out.outcome = JunitOutcome::error;
      out.notes.emplace_back(remark(t).empty() ? "no case ran" : remark(t), "");
      break;
    default:
      break;
  }
  out.said =
      say(t.property->sentence, " Ran ", t.ran, ", skipped ", t.skipped,
          t.known > 0 ? say(", failed as listed ", t.known) : "", ", launches ", t.launches, ".");
  return out;
}

// What makes a report fail beside its properties: a failure, or an error where nothing was settled.
std::vector<JunitCase> remarks(const BackendReport& b) {
  const prop::RunReport& report = b.report;
  std::vector<JunitCase> out;
  const auto add = [&out](const std::string& name, const std::string& message,
                          JunitOutcome outcome = JunitOutcome::error) {
    out.push_back({.name = name, .outcome = outcome, .notes = {{message, ""}}});
  };
  if (b.emulation != nullptr && !b.emulation->findings().empty())
    add("emulator", b.emulation->text(), JunitOutcome::failure);
  for (const prop::LedgerTally& t : report.ledger) {
    if (t.verdict == Verdict::unexpected_pass)
      add("ledger " + t.entry.id, t.message, JunitOutcome::failure);
    if (t.verdict == Verdict::inconclusive) add("ledger " + t.entry.id, t.message);
  }
  for (const prop::TagTally& t : report.missed_quotas())
    add(say("quota: ", t.tag), shortfall(t, report));
  if (report.too_large > 0) add("memory", report.first_too_large);
  if (std::ranges::all_of(report.tallies, [](const prop::PropertyTally& t) {
        return verdict_of(t) == Verdict::not_applicable;
      }))
    add("nothing ran", "no property applies to what was judged");
  if (const std::string why = early_end(report); !why.empty())
    add(report.gave_up ? "time limit" : "interrupted", why);
  return out;
}

JunitSuite of_backend(const BackendReport& b) {
  JunitSuite suite{.name = b.backend, .properties = b.facts, .seconds = b.report.seconds};
  for (std::string& line : b.report.launches.lines())
    suite.properties.emplace_back("launched", std::move(line));
  for (const prop::PropertyTally& t : b.report.tallies) suite.cases.push_back(of_property(t, b));
  for (JunitCase& one : remarks(b)) suite.cases.push_back(std::move(one));
  for (JunitCase& one : suite.cases) one.classname = "mla-testbed." + b.backend;
  return suite;
}

JunitCase of_outcome(const prop::Property& property, const prop::Outcome& outcome,
                     const JudgedCase& judged) {
  JunitCase out{.name = say(property.id, " ", property.name),
                .said = std::string(property.sentence)};
  switch (outcome.verdict) {
    case Verdict::pass:
      break;
    case Verdict::fail:
      out.outcome = JunitOutcome::failure;
      out.notes.emplace_back(outcome.message,
                             judged.failure ? prop::failure_block(*judged.failure) : "");
      break;
    case Verdict::inconclusive:
      out.outcome = JunitOutcome::error;
      out.notes.emplace_back(outcome.message, "");
      break;
    default:
      out.outcome = JunitOutcome::skipped;
      out.notes.emplace_back(outcome.message, "");
  }
  return out;
}

}  // namespace

std::string case_junit(const CaseQuestion& question, const std::vector<JudgedOn>& judged) {
  std::vector<JunitSuite> suites;
  for (const auto& [backend, answer] : judged) {
    JunitSuite suite{.name = backend->name, .properties = backend->facts};
    suite.properties.emplace_back("case", format_case(question.spec));
    for (std::string& line : answer.judgement.launches().lines())
      suite.properties.emplace_back("launched", std::move(line));
    for (std::size_t p = 0; p < question.properties.size(); ++p)
      suite.cases.push_back(
          of_outcome(*question.properties[p], answer.judgement.outcomes[p], answer));
    // Nothing passes without having run: a case that is refused fails no test, and passes none.
    if (answer.exit_code() == prop::ExitCode::skipped)
      suite.cases.push_back(
          {.name = "nothing was judged",
           .outcome = JunitOutcome::error,
           .notes = {{answer.judgement.why_refused ? answer.judgement.why_refused->message
                                                   : "no property says anything about the case",
                      ""}}});
    if (backend->emulation != nullptr && !backend->emulation->findings().empty())
      suite.cases.push_back({.name = "emulator",
                             .outcome = JunitOutcome::failure,
                             .notes = {{backend->emulation->text(), ""}}});
    for (JunitCase& one : suite.cases) one.classname = "mla-testbed." + backend->name;
    suites.push_back(std::move(suite));
  }
  return junit_document(suites);
}

std::string junit_report(const RunSummary& summary) {
  std::vector<JunitSuite> suites;
  for (const BackendReport& b : summary.backends) suites.push_back(of_backend(b));
  return junit_document(suites);
}

}  // namespace mla::app
