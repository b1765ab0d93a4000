#include "properties/app/report.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/catch.hpp"

using namespace mla;
using prop::ExitCode;

namespace {

prop::Outcome never(prop::Subject&) {
  return prop::passed();
}

constexpr prop::Property kHolds{"P05", "plan_coverage", "Every key is covered <once>.", &never};
constexpr prop::Property kFails{"P08", "split_invariance", "Splits change nothing.", &never};
constexpr prop::Property kSkips{"P23", "bound_tight", "Bounds are tight.", &never};
constexpr prop::Property kNothing{"P35", "balance", "Work is balanced.", &never};

constexpr prop::Property kListed{"P16", "scale", "Scales scale.", &never};

constexpr prop::Property kNever{"P22", "workspace_reserved", "It suffices.", &never};
constexpr prop::Property kElsewhere{"P36", "elsewhere", "It runs.", &never};

prop::LedgerEntry ledger_entry() {
  prop::LedgerEntry entry;
  entry.id = "BUG-058";
  entry.link = "https://example.org/1";
  entry.mechanism = "no scale";
  return entry;
}

// A run on one backend with one property of each verdict.
app::RunSummary summary() {
  prop::RunReport report;
  report.tallies = {{&kHolds, 90, 10, 0, "too short"},
                    {&kFails, 100, 0, 1, ""},
                    {&kSkips, 0, 100, 0, "no plan, only \"splits\""},
                    {&kNothing, 0, 0, 0, ""},
                    {&kListed, 100, 0, 0, "", 3},
                    {&kNever, 0, 100, 0, "the claim says nothing about decode steps"},
                    {&kElsewhere, 40, 0, 0, ""}};
  report.tallies[0].launches = 180;
  report.tallies[2].skipped_alike = 70;
  report.tallies[5].never_applies = "gfx942 has no fp8 prefill";
  report.tallies[6].unsettled = 60;
  report.tallies[6].why_unsettled = "backend hip on gpu launched nothing for it, cpu on avx2: fa 1";
  report.launches.add({"hip", "gpu", StepKind::decode, "stage 1", 120});
  report.launches.add({"hip", "gpu", StepKind::decode, "reduce", 60});
  report.launches.add({"cpu", kHost, StepKind::prefill, "gather", 7});
  report.ledger = {{ledger_entry(), 5, 3, prop::Verdict::known_fail, ""},
                   {ledger_entry(), 0, 0, prop::Verdict::unexpected_pass, "mla1:1q1s2 holds"}};
  report.random_cases = 700;
  report.tags = {{"padding requests", 6}, {"blocks of several tokens", 350}};
  prop::Failure failure;
  failure.property = &kFails;
  failure.smallest = *parse_case("mla1:1q1s17");
  failure.original = *parse_case("mla1:3q2s700;heads=128");
  failure.outcome = {prop::Verdict::fail, "row 0 differs: 1 & 2", {"head 3: 1 < 2", "work 7"}};
  failure.seed = 9;
  failure.shrinks = 12;
  failure.replay_options = " --backend cpu-portable";
  report.failures = {failure};
  report.cases = 100;
  report.refused = 4;
  report.seconds = 1.25;
  return {.seed = 9, .backends = {{.backend = "cpu-portable", .report = report}}};
}

// The approved text of a format. MLA_APPROVE=1 approves what is made now.
void check_baseline(const std::string& name, const std::string& text) {
  const std::string path = std::string(MLA_BASELINES) + "/" + name;
  if (const char* approve = std::getenv("MLA_APPROVE"); approve != nullptr && *approve == '1')
    std::ofstream(path) << text;
  std::ifstream file(path);
  std::ostringstream approved;
  approved << file.rdbuf();
  CHECK(approved.str() == text);
}

app::RunSummary with(std::initializer_list<prop::RunReport> reports) {
  app::RunSummary s;
  for (const prop::RunReport& r : reports) s.backends.push_back({.backend = "b", .report = r});
  return s;
}

}  // namespace

TEST_CASE("reports: the formats are the approved ones", "[cli]") {
  check_baseline("report.txt", app::verdict_table(summary()));
  check_baseline("report.json", app::json_report(summary()));
  check_baseline("report.xml", app::junit_report(summary()));
}

TEST_CASE("reports: a property that no case settled has not passed", "[cli]") {
  CHECK(app::verdict_of({&kHolds, 1, 5, 0, ""}) == prop::Verdict::pass);
  CHECK(app::verdict_of({&kHolds, 1, 5, 1, ""}) == prop::Verdict::fail);
  CHECK(app::verdict_of({&kHolds, 5, 0, 1, "", 1}) == prop::Verdict::fail);
  CHECK(app::verdict_of({&kHolds, 5, 0, 0, "", 1}) == prop::Verdict::known_fail);
  CHECK(app::verdict_of({&kHolds, 0, 5, 0, ""}) == prop::Verdict::skip);
  CHECK(app::verdict_of({&kHolds, 0, 0, 0, ""}) == prop::Verdict::inconclusive);
  prop::PropertyTally tally{&kHolds, 5, 0, 0, ""};
  tally.unsettled = 1;
  CHECK(app::verdict_of(tally) == prop::Verdict::inconclusive);
  tally.never_applies = "gfx942 has none";
  tally.unsettled = 0;
  CHECK(app::verdict_of(tally) == prop::Verdict::pass);
  tally.ran = 0;
  CHECK(app::verdict_of(tally) == prop::Verdict::not_applicable);
}

TEST_CASE("reports: a failure on any backend outweighs what could not be settled", "[cli]") {
  prop::RunReport held;
  held.tallies = {{&kHolds, 1, 0, 0, ""}};
  prop::RunReport unsettled;
  unsettled.tallies = {{&kHolds, 0, 0, 0, ""}};
  const prop::RunReport failed = summary().backends.front().report;
  CHECK(with({}).exit_code() == ExitCode::inconclusive);
  CHECK(with({held, held}).exit_code() == ExitCode::held);
  CHECK(with({held, unsettled}).exit_code() == ExitCode::inconclusive);
  CHECK(with({failed, unsettled, held}).exit_code() == ExitCode::failed);
  CHECK(with({unsettled, failed}).exit_code() == ExitCode::failed);
}

TEST_CASE("reports: one defect reddens every property that fails by it", "[cli]") {
  app::RunSummary s = summary();
  prop::RunReport& report = s.backends.front().report;
  report.tallies.front().failed = 1;  // of kHolds
  report.failures.front().also = {{&kHolds, {prop::Verdict::fail, "key 3 is missing", {}}}};
  const std::string xml = app::junit_report(s);
  CHECK(xml.find("<failure message=\"key 3 is missing\">FAIL P08,P05 mla1:") != std::string::npos);
  CHECK(xml.find("<failure message=\"row 0 differs: 1 &amp; 2\">FAIL P08,P05 mla1:") !=
        std::string::npos);
  CHECK(app::json_report(s).find("\"message\": \"key 3 is missing\"") != std::string::npos);
}

TEST_CASE("reports: every format says that a run ended early, and where", "[cli]") {
  prop::RunReport report;
  report.tallies = {{&kHolds, 5, 0, 0, ""}};
  report.cases = 5;
  report.wanted = 40;
  const auto said = [&](const std::string& text) {
    const app::RunSummary s = with({report});
    CHECK(s.exit_code() == ExitCode::inconclusive);
    CHECK(app::verdict_table(s).find(text) != std::string::npos);
    CHECK(app::junit_report(s).find("5 of 40 cases were judged") != std::string::npos);
    CHECK(app::junit_report(s).find("<error ") != std::string::npos);
  };
  CHECK(with({report}).exit_code() == ExitCode::held);
  report.interrupted = true;
  said("\ninterrupted: 5 of 40 cases were judged\n");
  CHECK(app::json_report(with({report})).find("\"interrupted\": true") != std::string::npos);
  report.interrupted = false;
  report.gave_up = true;
  said("\ngave up: the time was over when 5 of 40 cases were judged\n");
}

TEST_CASE("reports: a given case that did not fit into memory leaves the run inconclusive",
          "[cli]") {
  prop::RunReport report;
  report.tallies = {{&kHolds, 5, 1, 0, ""}};
  report.first_too_large = "mla1:1q1s4096k needs 40 GiB";
  CHECK(with({report}).exit_code() == ExitCode::held);  // a random one
  report.too_large = 1;
  CHECK(with({report}).exit_code() == ExitCode::inconclusive);
  CHECK(app::verdict_table(with({report})).find("want of memory: mla1:1q1s4096k needs") !=
        std::string::npos);
  CHECK(app::junit_report(with({report})).find("name=\"memory\"") != std::string::npos);
}

TEST_CASE("reports: JUnit has an error where every property was skipped, or none applies",
          "[cli]") {
  prop::RunReport report;
  report.tallies = {{&kSkips, 0, 5, 0, "no plan"}};
  CHECK(with({report}).exit_code() == ExitCode::inconclusive);
  CHECK(app::junit_report(with({report})).find("<error ") != std::string::npos);
  report.tallies.front().never_applies = "gfx942 has no fp8 prefill";
  CHECK(with({report}).exit_code() == ExitCode::inconclusive);
  CHECK(app::junit_report(with({report})).find("<error ") != std::string::npos);
  report.tallies.push_back({&kHolds, 1, 0, 0, ""});
  CHECK(with({report}).exit_code() == ExitCode::held);
  CHECK(app::junit_report(with({report})).find("<error ") == std::string::npos);
}
