// Claims about the runner: nothing passes without having run, and every failure replays.
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "properties/judge/runner.hpp"
#include "properties/step/compare_subject.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

std::int64_t keys_of(const Case& c) {
  std::int64_t keys = 0;
  for (const RequestSpec& r : c.requests) keys += r.kv_len;
  return keys;
}

constexpr Property kRunHolds{"T01", "holds", "Everything is well.",
                             [](Subject&) { return passed(); }};
constexpr Property kFails{"T02", "fails", "Nothing is well.",
                          [](Subject& s) { return failed(format_case(s.spec())); }};
constexpr Property kFewKeys{"T03", "few_keys", "No case has more than 50 keys.", [](Subject& s) {
                              const std::int64_t keys = keys_of(s.spec());
                              return keys > 50 ? failed(std::to_string(keys) + " keys") : passed();
                            }};
constexpr Property kRunSkips{"T04", "skips", "Says nothing.",
                             [](Subject&) { return skipped("it never applies"); }};
constexpr Property kEvenHeads{"T05", "even_heads", "Heads are even.", [](Subject& s) {
                                const std::int64_t h = s.spec().heads;
                                if (h == 16) return skipped("16 heads are known");
                                return h % 2 == 0 ? passed() : failed(std::to_string(h));
                              }};
constexpr Property kExecutes{"T07", "executes", "No case has more than 50 keys.", [](Subject& s) {
                               static_cast<void>(s.result());
                               Subject again = s.sibling(s.spec());
                               static_cast<void>(again.result());
                               return kFewKeys.check(s);
                             }};
constexpr Property kRunRight{"T06", "right", "The result equals the reference.",
                             compare_with_reference};

constexpr Property kTwoRequests{"T07", "two_requests", "Two requests have at most 40 keys.",
                                [](Subject& s) {
                                  if (s.spec().requests.size() > 2) return skipped("three");
                                  const std::int64_t keys = keys_of(s.spec());
                                  return keys > 40 ? failed("two have too many") : passed();
                                }};
constexpr Property kAnyKeys{"T08", "any_keys", "No case has more than 45 keys.", [](Subject& s) {
                              return keys_of(s.spec()) > 45 ? failed("too many") : passed();
                            }};

struct Halved final : Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata&,
                 DecodeResult& result) const override {
    for (float& lse : result.lse) lse /= 2;
  }
};

RunOptions options_of(std::vector<const Property*> properties, std::int64_t random_cases) {
  RunOptions options;
  options.properties = std::move(properties);
  options.random_cases = random_cases;
  options.backend = &cpu_backend();
  return options;
}

std::string text_of(const RunReport& report) {
  std::string text = std::to_string(report.cases) + " " + std::to_string(report.refused) + "\n";
  for (const PropertyTally& t : report.tallies)
    text += std::string(t.property->id) + " " + std::to_string(t.ran) + " " +
            std::to_string(t.skipped) + " " + std::to_string(t.failed) + " " + t.why_skipped + "\n";
  for (const Failure& f : report.failures) text += failure_block(f);
  for (const std::string& line : report.launches.lines()) text += line + "\n";
  return text;
}

// The case between the quotes of the REPRO line.
std::string replayed_line(const std::string& block) {
  const std::string before = "REPRO: mla-testbed replay '";
  const std::size_t from = block.find(before) + before.size();
  return block.substr(from, block.find('\'', from) - from);
}

}  // namespace

TEST_CASE("runner: a run in which everything held has exit code 0", "[judge]") {
  const RunReport report = run_properties(options_of({&kRunHolds}, 20));
  CHECK(report.exit_code() == ExitCode::held);
  CHECK(report.cases == 20);
  CHECK(report.tallies[0].ran == 20);
}

TEST_CASE("runner: nothing passes without having run", "[judge]") {
  CHECK(run_properties(options_of({&kRunHolds}, 0)).exit_code() == ExitCode::inconclusive);
  CHECK(run_properties(options_of({}, 5)).exit_code() == ExitCode::inconclusive);
  const RunReport skipped = run_properties(options_of({&kRunHolds, &kRunSkips}, 5));
  CHECK(skipped.exit_code() == ExitCode::inconclusive);
  CHECK(skipped.tallies[1].skipped == 5);
  CHECK(skipped.tallies[1].why_skipped == "it never applies");
}

TEST_CASE("runner: a failure is shrunk, and the line it prints fails again", "[judge]") {
  const RunReport report = run_properties(options_of({&kFewKeys}, 100));
  REQUIRE(report.exit_code() == ExitCode::failed);
  REQUIRE(report.failures.size() == 1);
  CHECK(keys_of(report.failures[0].smallest) == 51);
  CHECK(report.failures[0].smallest.requests.size() == 1);
  const std::string block = failure_block(report.failures[0]);

  RunOptions replay = options_of({&kFewKeys}, 0);
  replay.cases = {case_of(replayed_line(block))};
  const RunReport again = run_properties(replay);
  REQUIRE(again.failures.size() == 1);
  CHECK(again.failures[0].smallest == report.failures[0].smallest);
  CHECK(again.failures[0].outcome.message == "51 keys");
  CHECK(again.cases == 1);
}

TEST_CASE("runner: the block starts with FAIL, id and case, then says what and how", "[judge]") {
  const Failure failure{.property = &kFewKeys,
                        .smallest = case_of("mla1:1q1s51"),
                        .original = case_of("mla1:1q1s99"),
                        .outcome = {Verdict::fail, "51 keys", {"a detail"}},
                        .seed = 7,
                        .shrinks = 3,
                        .replay_options = " --backend hip"};
  const std::string line = format_case(failure.smallest);
  CHECK(failure_block(failure) == "FAIL T03 " + line +
                                      "\n"
                                      "  few_keys: No case has more than 50 keys.\n"
                                      "  51 keys\n"
                                      "REPRO: mla-testbed replay '" +
                                      line +
                                      "' --property T03 --backend hip\n"
                                      "  seed 7, 3 shrinks\n"
                                      "  drawn as " +
                                      format_case(failure.original) +
                                      "\n"
                                      "    a detail\n");
}

TEST_CASE("runner: the report of a seed is the same for any number of workers", "[judge]") {
  RunOptions options = options_of(
      {&kRunHolds, &kFewKeys, &kEvenHeads, &kRunRight, &kTwoRequests, &kAnyKeys, &kExecutes}, 60);
  std::string streamed;
  options.found = [&](const Failure& f) { streamed += failure_block(f); };
  options.workers = 1;
  const std::string alone = text_of(run_properties(options));
  const std::string blocks = std::exchange(streamed, {});
  CHECK_FALSE(blocks.empty());
  for (int workers = 2; workers <= 8; ++workers) {
    options.workers = workers;
    CHECK(text_of(run_properties(options)) == alone);
    CHECK(std::exchange(streamed, {}) == blocks);
  }
  options.seed = 2;
  CHECK(text_of(run_properties(options)) != alone);
}

TEST_CASE("runner: the environment of RapidCheck changes nothing", "[judge]") {
  const std::string before = text_of(run_properties(options_of({&kFewKeys}, 40)));
  setenv("RC_PARAMS", "seed=5 max_success=1 reproduce=abc", 1);
  CHECK(text_of(run_properties(options_of({&kFewKeys}, 40))) == before);
  unsetenv("RC_PARAMS");
}

TEST_CASE("runner: a property that failed is not asked again, the others go on", "[judge]") {
  const RunReport report = run_properties(options_of({&kFails, &kRunHolds}, 30));
  CHECK(report.tallies[0].ran == 1);
  CHECK(report.tallies[0].failed == 1);
  CHECK(report.tallies[1].ran == 30);
  CHECK(report.cases == 30);
}

TEST_CASE("runner: a run ends when every property has failed", "[judge]") {
  const RunReport report = run_properties(options_of({&kFails, &kFewKeys}, 100000));
  CHECK(report.cases < 1000);
  CHECK(report.failures.size() == 2);
}

TEST_CASE("runner: each failure is shrunk by its own property only", "[judge]") {
  const RunReport report = run_properties(options_of({&kFewKeys, &kEvenHeads}, 200));
  REQUIRE(report.failures.size() == 2);
  CHECK(report.failures[0].smallest.heads == 16);
  CHECK(keys_of(report.failures[1].smallest) <= 1);
  CHECK(report.failures[1].smallest.heads % 2 == 1);
}

TEST_CASE("runner: properties that fail on the smallest case are one block", "[judge]") {
  RunOptions options = options_of({&kRunHolds, &kFewKeys, &kTwoRequests, &kAnyKeys}, 0);
  options.cases = {case_of("mla1:3q1s30"), case_of("mla1:1q1s44"), case_of("mla1:1q1s60")};
  const RunReport report = run_properties(options);
  INFO(text_of(report));
  REQUIRE(report.failures.size() == 1);
  const Failure& f = report.failures[0];
  CHECK(keys_of(f.smallest) == 51);
  CHECK(failing_ids(f) == "T03,T07,T08");
  CHECK(f.also[0].outcome.message == "two have too many");
  const std::string block = failure_block(f);
  CHECK(block.starts_with("FAIL T03,T07,T08 mla1:1q1s21_1q1s30;"));
  CHECK(block.find("\n  T07 two_requests: two have too many\n  T08 any_keys: too many\nREPRO: ") !=
        std::string::npos);
  CHECK(block.find("' --property T03,T07,T08\n") != std::string::npos);
  // T07 said nothing about the drawn case; it failed on the smallest, which counts as one more.
  CHECK(report.tallies[2].failed == 1);
  CHECK(report.tallies[2].skipped == 1);
  CHECK(report.tallies[3].failed == 1);
  CHECK(report.cases == 3);
}

TEST_CASE("runner: a property with a defect of its own gets its own block", "[judge]") {
  RunOptions options = options_of({&kFewKeys, &kEvenHeads, &kAnyKeys}, 0);
  options.cases = {case_of("mla1:3q1s30;heads=7")};
  const RunReport report = run_properties(options);
  REQUIRE(report.failures.size() == 2);
  CHECK(failing_ids(report.failures[0]) == "T03,T08");
  CHECK(failing_ids(report.failures[1]) == "T05");
  CHECK(report.failures[1].smallest.heads % 2 == 1);
}

TEST_CASE("runner: a failure that the ledger knows joins no block", "[judge]") {
  RunOptions options = options_of({&kFewKeys, &kAnyKeys}, 0);
  options.cases = {case_of("mla1:1q1s60")};
  LedgerEntry entry;
  entry.properties = {&kAnyKeys};
  entry.damage = Damage::claim;
  options.ledger = {entry};
  const RunReport report = run_properties(options);
  REQUIRE(report.failures.size() == 1);
  CHECK(failing_ids(report.failures[0]) == "T03");
  CHECK(report.tallies[1].known == 1);
}

TEST_CASE("runner: a stop keeps what was found and says how far it came", "[judge]") {
  RunOptions options = options_of({&kRunHolds, &kFewKeys}, 0);
  options.cases.assign(200, case_of("mla1:2q1s30"));
  for (const int workers : {1, 3}) {
    options.workers = workers;
    std::atomic<std::int64_t> judged = 0;
    options.progress = [&](std::int64_t done, std::int64_t) { judged = done; };
    options.stopped = [&] { return judged >= 20; };
    const RunReport report = run_properties(options);
    CHECK(report.interrupted);
    CHECK_FALSE(report.gave_up);
    CHECK(report.cases >= 20);
    CHECK(report.cases < 30);
    CHECK(report.wanted == 200);
    CHECK(report.exit_code() == ExitCode::failed);
    REQUIRE(report.failures.size() == 1);
    options.properties = {&kRunHolds};
    judged = 0;
    CHECK(run_properties(options).exit_code() == ExitCode::inconclusive);
    options.properties = {&kRunHolds, &kFewKeys};
  }
}

TEST_CASE("runner: shrinking that was stopped says so, and its case fails", "[judge]") {
  RunOptions options = options_of({&kFewKeys, &kAnyKeys}, 0);
  options.cases = {case_of("mla1:9q1s300;heads=8;block=16")};
  for (const int asked : {2, 4, 13}) {
    int left = asked;
    options.workers = 1;
    options.stopped = [&] { return left-- <= 0; };
    const RunReport report = run_properties(options);
    REQUIRE_FALSE(report.failures.empty());
    for (const Failure& f : report.failures) {
      CHECK(f.cut);
      CHECK(keys_of(f.smallest) > 51);
      CHECK(failure_block(f).find("shrinking was cut off") != std::string::npos);
    }
  }
  options.stopped = [] { return false; };
  const RunReport whole = run_properties(options);
  CHECK_FALSE(whole.failures[0].cut);
  CHECK(failure_block(whole.failures[0]).find("cut off") == std::string::npos);
}

TEST_CASE("runner: a case for which there is no memory is skipped with what it needs", "[judge]") {
  RunOptions options = options_of({&kRunHolds}, 0);
  options.cases = {case_of("mla1:1q1s5"), case_of("mla1:1q1s1024k"), case_of("mla1:1q1s9")};
  options.memory = 2.0 * (1 << 30);
  const RunReport report = run_properties(options);
  CHECK(report.tallies[0].ran == 2);
  CHECK(report.tallies[0].skipped == 1);
  CHECK(report.too_large == 1);
  CHECK(report.first_too_large.starts_with("mla1:1q1s1024k;"));
  CHECK(report.first_too_large.find("a case may take") != std::string::npos);
  CHECK(report.exit_code() == ExitCode::inconclusive);
}

TEST_CASE("runner: a random case for which there is no memory leaves the run inconclusive",
          "[judge]") {
  RunOptions options = options_of({&kRunHolds}, 40);
  options.memory = 40 << 20;
  const RunReport report = run_properties(options);
  CHECK(report.cases == 40);
  CHECK(report.too_large > 0);
  CHECK(report.tallies[0].ran == 40 - report.too_large);
  CHECK(report.exit_code() == ExitCode::inconclusive);
}

TEST_CASE("runner: given cases come first, as they are", "[judge]") {
  RunOptions options = options_of({&kFewKeys}, 3);
  options.cases = {case_of("mla1:1q1s5"), case_of("mla1:1q1s80;heads=8")};
  options.shrink = false;
  const RunReport report = run_properties(options);
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0].smallest == options.cases[1]);
  CHECK(report.failures[0].shrinks == 0);
  CHECK(report.cases == 2);
}

TEST_CASE("runner: refused cases are counted, and a skip says why", "[judge]") {
  RunOptions options = options_of({&kRunRight}, 0);
  options.cases = {case_of("mla1:1q1s5"), case_of("mla1:1q1s5;dtype=fp8/bf16")};
  const RunReport report = run_properties(options);
  CHECK(report.refused == 1);
  CHECK(report.tallies[0].ran == 1);
  CHECK(report.tallies[0].skipped == 1);
  CHECK(report.tallies[0].why_skipped.find("fp8/bf16") != std::string::npos);
  CHECK(report.exit_code() == ExitCode::held);
}

TEST_CASE("runner: time that runs out before the wanted cases is inconclusive", "[judge]") {
  RunOptions options = options_of({&kRunHolds}, 10);
  options.time_limit = std::chrono::milliseconds(0);
  const RunReport report = run_properties(options);
  CHECK(report.gave_up);
  CHECK(report.exit_code() == ExitCode::inconclusive);
}

TEST_CASE("runner: a time limit alone is filled with random cases", "[judge]") {
  RunOptions options = options_of({&kRunHolds}, 0);
  options.time_limit = std::chrono::milliseconds(50);
  const RunReport report = run_properties(options);
  CHECK(report.cases > 5);
  CHECK_FALSE(report.gave_up);
  CHECK(report.exit_code() == ExitCode::held);
}

TEST_CASE("runner: progress counts every case once", "[judge]") {
  RunOptions options = options_of({&kRunHolds}, 25);
  std::vector<std::int64_t> seen;
  options.progress = [&](std::int64_t done, std::int64_t wanted) {
    CHECK(wanted == 25);
    seen.push_back(done);
  };
  run_properties(options);
  REQUIRE(seen.size() == 25);
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == static_cast<std::int64_t>(i) + 1);
}

TEST_CASE("runner: the reporting chain is alive: a planted defect is caught", "[judge]") {
  const Halved halved;
  RunOptions options = options_of({&kRunRight}, 30);
  CHECK(run_properties(options).exit_code() == ExitCode::held);
  options.interposer = &halved;
  options.replay_options = " --plant halved";
  const RunReport report = run_properties(options);
  REQUIRE(report.exit_code() == ExitCode::failed);
  CHECK(report.failures[0].smallest.requests.size() == 1);
  CHECK(failure_block(report.failures[0]).find("--plant halved\n") != std::string::npos);
}

TEST_CASE("runner: a property that throws is inconclusive, and the others are judged", "[judge]") {
  static constexpr Property kThrows{
      "T09", "throws", "Never says anything.",
      [](Subject&) -> Outcome { throw std::length_error("vector::reserve"); }};
  const RunReport report = run_properties(options_of({&kThrows, &kRunHolds}, 3));
  CHECK(report.tallies[0].ran == 0);
  CHECK(report.tallies[0].why_unsettled == "the property could not be judged: vector::reserve");
  CHECK(report.tallies[1].ran == 3);
  CHECK(report.exit_code() == ExitCode::inconclusive);
}
