// Claims about what may fail: the ledger, the canary and the quotas of cases.
#include <string>
#include <utility>
#include <vector>

#include "properties/canary.hpp"
#include "properties/runner.hpp"
#include "properties/tags.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

constexpr Property kManyHeads{"T01", "many_heads", "There are at most 64 heads.", [](Subject& s) {
                                const std::int64_t h = s.spec().heads;
                                return h > 64 ? failed("there are " + std::to_string(h) + " heads")
                                              : passed();
                              }};
constexpr Property kHolds{"T02", "holds", "Everything is well.", [](Subject&) { return passed(); }};
constexpr Property kSkips{"T03", "skips", "Says nothing.", [](Subject&) { return skipped("no"); }};

LedgerEntry entry_of(const Property& property, const std::string& witness) {
  LedgerEntry entry;
  entry.id = "T-1";
  entry.link = "nowhere";
  entry.reason = "a test";
  entry.property = &property;
  if (!witness.empty()) entry.witnesses = {*parse_case(witness)};
  return entry;
}

RunReport run(const Property& property, Ledger ledger, std::int64_t random_cases = 200,
              std::vector<Case> cases = {}) {
  RunOptions options;
  options.properties = {&property};
  options.cases = std::move(cases);
  options.random_cases = random_cases;
  options.backend = &cpu_backend();
  options.ledger = std::move(ledger);
  return run_properties(options);
}

const std::string kWide = "mla1:1q1s3;heads=128";

}  // namespace

TEST_CASE("ledger: a listed failure is counted and reddens nothing", "[judge][ledger]") {
  const RunReport red = run(kManyHeads, {});
  CHECK(red.exit_code() == ExitCode::failed);
  const RunReport report = run(kManyHeads, {entry_of(kManyHeads, kWide)});
  CHECK(report.exit_code() == ExitCode::held);
  CHECK(report.cases == 200);
  CHECK(report.tallies[0].failed == 0);
  CHECK(report.tallies[0].known > 1);
  CHECK(report.ledger[0].cases == report.tallies[0].known);
  CHECK(report.ledger[0].verdict == Verdict::known_fail);
}

TEST_CASE("ledger: a witness that passes is an unexpected pass", "[judge][ledger]") {
  const RunReport report = run(kHolds, {entry_of(kHolds, kWide)}, 1);
  CHECK(report.exit_code() == ExitCode::unexpected_pass);
  CHECK(report.ledger[0].message.find("heads=128") != std::string::npos);
  CHECK(run(kSkips, {entry_of(kSkips, kWide)}, 1).exit_code() == ExitCode::inconclusive);
}

TEST_CASE("ledger: an entry covers its own fields and sentence only", "[judge][ledger]") {
  LedgerEntry entry = entry_of(kManyHeads, kWide);
  entry.where["heads"] = {"128"};
  entry.says = "128 heads";
  const RunReport report = run(kManyHeads, {entry}, 2000);
  REQUIRE(report.exit_code() == ExitCode::failed);
  CHECK(report.failures[0].smallest.heads > 64);
  CHECK(report.failures[0].smallest.heads != 128);  // no shrink slides into what is listed
  entry.where.clear();
  CHECK(run(kManyHeads, {entry}, 2000).exit_code() == ExitCode::failed);
  entry.where["q"] = {"ragged"};
  CHECK_FALSE(covers(entry, *parse_case("mla1:2q1s3")));
  CHECK(covers(entry, *parse_case("mla1:1q1s3_1q2s3")));
  entry.where["q"] = {"2", "1"};
  CHECK(covers(entry, *parse_case("mla1:2q1s3")));
}

TEST_CASE("ledger: quarantined cases are not judged", "[judge][ledger]") {
  LedgerEntry entry = entry_of(kManyHeads, "");
  entry.status = LedgerStatus::quarantine;
  const RunReport report = run(kManyHeads, {entry});
  CHECK(report.exit_code() == ExitCode::inconclusive);  // nothing is left that ran
  CHECK(report.tallies[0].skipped == 200);
  CHECK(report.tallies[0].why_skipped == "quarantined by T-1: a test");
  entry.where["dtype"] = {"fp8/fp8"};
  CHECK(run(kManyHeads, {entry}).exit_code() == ExitCode::failed);
}

TEST_CASE("canary: one case in a hundred fails, and the run expects it", "[judge][ledger]") {
  const RunReport report = run(canary(), {canary_entry()}, 5000);
  CHECK(report.exit_code() == ExitCode::held);
  CHECK(report.tallies[0].known > 25);
  CHECK(report.tallies[0].known < 100);
  const RunReport red = run(canary(), {}, 5000);
  REQUIRE(red.exit_code() == ExitCode::failed);
  CHECK(run(canary(), {}, 0, {red.failures[0].smallest}).exit_code() == ExitCode::failed);
}

TEST_CASE("quotas: random cases have every tag, and a run that lacks one is inconclusive",
          "[judge][ledger]") {
  RunReport report = run(kHolds, {}, 1000);
  CHECK(report.exit_code() == ExitCode::held);
  CHECK(report.random_cases > 500);
  CHECK(std::ssize(report.tags) ==
        std::count_if(all_tags().begin(), all_tags().end(), [](auto& t) { return !t.production; }));
  for (TagTally& tag : report.tags) {
    INFO(tag.tag);
    CHECK(tag.cases * tag.one_in >= report.random_cases);
    const std::int64_t cases = std::exchange(tag.cases, report.random_cases / tag.one_in - 1);
    CHECK(report.exit_code() == ExitCode::inconclusive);
    tag.cases = cases;
  }
}
