#include <algorithm>
#include <utility>

#include "core/say.hpp"
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

}  // namespace

std::string junit_report(const RunSummary& summary) {
  std::vector<JunitSuite> suites;
  for (const BackendReport& b : summary.backends) suites.push_back(of_backend(b));
  return junit_document(suites);
}

}  // namespace mla::app
