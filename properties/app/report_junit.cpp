#include <algorithm>
#include <cstdio>

#include "core/say.hpp"
#include "properties/app/report.hpp"
#include "properties/app/xml_text.hpp"

namespace mla::app {
namespace {

using prop::Verdict;

// What the property says about the failing case.
std::string message_of(const prop::Failure& f, const prop::Property& property) {
  for (const prop::Failing& other : f.also)
    if (other.property == &property) return other.outcome.message;
  return f.outcome.message;
}

std::string testcase(const prop::PropertyTally& t, const BackendReport& b) {
  const std::string name = say(t.property->id, " ", t.property->name);
  std::string out = "    <testcase" + attribute("classname", "mla-testbed." + b.backend) +
                    attribute("name", name) + ">\n";
  switch (verdict_of(t)) {
    case Verdict::fail:
      for (const prop::Failure& f : b.report.failures)
        if (f.concerns(*t.property))
          out += "      <failure" + attribute("message", message_of(f, *t.property)) + ">" +
                 xml(prop::failure_block(f)) + "</failure>\n";
      break;
    case Verdict::not_applicable:
      out += "      <skipped" + attribute("message", remark(t)) + "/>\n";
      break;
    case Verdict::skip:  // no case settled it, which is no success of the run either
    case Verdict::inconclusive:
      out += "      <error" + attribute("message", remark(t).empty() ? "no case ran" : remark(t)) +
             "/>\n";
      break;
    default:
      break;
  }
  out += say("      <system-out>", xml(t.property->sentence), " Ran ", t.ran, ", skipped ",
             t.skipped, t.known > 0 ? say(", failed as listed ", t.known) : "", ", launches ",
             t.launches, ".</system-out>\n");
  return out + "    </testcase>\n";
}

// What makes a report fail beside its properties.
struct Remark {
  std::string name;
  std::string message;
  bool failure = false;  // or an error: nothing was settled
};

std::vector<Remark> remarks(const BackendReport& b) {
  const prop::RunReport& report = b.report;
  std::vector<Remark> out;
  if (b.emulation != nullptr && !b.emulation->findings().empty())
    out.push_back({"emulator", b.emulation->text(), true});
  for (const prop::LedgerTally& t : report.ledger)
    if (t.verdict == Verdict::unexpected_pass || t.verdict == Verdict::inconclusive)
      out.push_back({"ledger " + t.entry.id, t.message, t.verdict == Verdict::unexpected_pass});
  for (const prop::TagTally& t : report.missed_quotas())
    out.push_back({say("quota: ", t.tag), shortfall(t, report)});
  if (report.too_large > 0) out.push_back({"memory", report.first_too_large});
  if (std::ranges::all_of(report.tallies, [](const prop::PropertyTally& t) {
        return verdict_of(t) == Verdict::not_applicable;
      }))
    out.push_back({"nothing ran", "no property applies to what was judged"});
  if (const std::string why = early_end(report); !why.empty())
    out.push_back({report.gave_up ? "time limit" : "interrupted", why});
  return out;
}

std::string testcase(const Remark& remark, const BackendReport& b) {
  return "    <testcase" + attribute("classname", "mla-testbed." + b.backend) +
         attribute("name", remark.name) + ">\n      <" + (remark.failure ? "failure" : "error") +
         attribute("message", remark.message) + "/>\n    </testcase>\n";
}

std::string properties_of(const BackendReport& b) {
  Facts facts = b.facts;
  for (std::string& line : b.report.launches.lines()) facts.emplace_back("launched", line);
  if (facts.empty()) return {};
  std::string out = "    <properties>\n";
  for (const auto& [fact, value] : facts)
    out += "      <property" + attribute("name", fact) + attribute("value", value) + "/>\n";
  return out + "    </properties>\n";
}

std::string testsuite(const BackendReport& b) {
  std::int64_t failures = 0;
  std::int64_t skipped = 0;
  std::int64_t errors = 0;
  std::string cases;
  for (const prop::PropertyTally& t : b.report.tallies) {
    const Verdict verdict = verdict_of(t);
    failures += verdict == Verdict::fail ? 1 : 0;
    skipped += verdict == Verdict::not_applicable ? 1 : 0;
    errors += verdict == Verdict::skip || verdict == Verdict::inconclusive ? 1 : 0;
    cases += testcase(t, b);
  }
  const std::vector<Remark> beside = remarks(b);
  for (const Remark& remark : beside) {
    ++(remark.failure ? failures : errors);
    cases += testcase(remark, b);
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f", b.report.seconds);
  return "  <testsuite" + attribute("name", b.backend) +
         attribute("tests", std::to_string(b.report.tallies.size() + beside.size())) +
         attribute("failures", std::to_string(failures)) +
         attribute("errors", std::to_string(errors)) +
         attribute("skipped", std::to_string(skipped)) + attribute("time", seconds) + ">\n" +
         properties_of(b) + cases + "  </testsuite>\n";
}

}  // namespace

std::string junit_report(const RunSummary& summary) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const BackendReport& b : summary.backends) out += testsuite(b);
  return out + "</testsuites>\n";
}

}  // namespace mla::app
