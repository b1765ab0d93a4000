// Claims about what may fail: the ledger and the canary.
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/run_decode.hpp"
#include "properties/claims/support/canary.hpp"
#include "properties/claims/support/damaged_launch.hpp"
#include "properties/judge/runner.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "properties/step/prefill/run.hpp"
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

Outcome check_result(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return failed("refused");
  const auto& expected = subject.reference();
  for (std::size_t i = 0; i < result->lse.size(); ++i)
    if (!(std::fabs(result->lse[i] - expected->lse[i]) <= expected->lse_bound[i]))
      return failed("LSE " + std::to_string(i) + " is wrong");
  return result->faults.empty() ? passed() : failed(result->faults.front().what);
}
constexpr Property kRight{"T04", "right", "The LSE is that of the reference.", check_result};
constexpr Property kPaged{"T05", "paged", "So it is with pages of 16.", [](Subject& s) {
                            Case other = s.spec();
                            other.page_size = other.block_size = 16;
                            Subject sibling = s.sibling(other);
                            return check_result(sibling);
                          }};

constexpr Property kTimed{
    "T06", "timed", "So it is under a timing.", [](Subject& s) {
      const auto result =
          run_decode(s.backend(), {*s.metadata(), *s.tensors()}, {.timing_seed = 3}, s.hooks());
      return result && result->lse[0] != 0.5F ? passed() : failed("LSE 0 is wrong");
    }};

constexpr Property kDamaged{
    "T07", "damaged", "Of a launch with page -1, and so it is without.", [](Subject& s) {
      const DecodeMetadata& md = *s.metadata();
      StepLists lists(md);
      lists.kv_indices[0] = -1;
      const DecodeMetadata damaged = lists.with(md, md.plan->clone());
      const auto result = run_decode(s.backend(), {damaged, *s.tensors()}, {}, s.hooks());
      if (!result || result->faults.empty()) return failed("no fault");
      return check_result(s);
    }};

// The CPU backend, with an LSE that is `lse` for the first row of launches with `heads`.
class Broken final : public Backend {
 public:
  Broken(std::int64_t heads, float lse, std::int64_t page = 1)
      : heads_(heads), lse_(lse), page_(page) {}
  [[nodiscard]] std::string_view name() const override { return cpu_backend().name(); }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    return cpu_backend().device(kind);
  }
  [[nodiscard]] Support supports(const ResolvedShape&) const override { return {true, {}}; }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    auto result = cpu_backend().run(launch, options);
    const ResolvedShape& shape = launch.metadata.shape;
    if (result && shape.row_heads().count() == heads_ && shape.page_size == page_) {
      result->lse[0] = lse_;
      if (!result->stage1_lse.empty()) result->stage1_lse[0] = lse_;
    }
    return result;
  }

 private:
  std::int64_t heads_;
  float lse_;
  std::int64_t page_;
};

// A finding about 16 heads a row.
LedgerEntry finding(DamageSet damage, const Property* property, const std::string& witness) {
  LedgerEntry entry;
  entry.id = "T-1";
  entry.link = "nowhere";
  entry.mechanism = "a test";
  entry.damage = damage;
  Condition heads;
  heads.fact = find_fact("heads");
  heads.ranges = {{16, 16}};
  entry.where = {{heads}};
  if (property != nullptr) entry.witnesses = {{case_of(witness), property}};
  return entry;
}

// The same about every launch.
LedgerEntry anywhere(DamageSet damage, const Property* property, const std::string& witness) {
  LedgerEntry entry = finding(damage, property, witness);
  entry.where.clear();
  return entry;
}

RunReport run(std::vector<const Property*> properties, Ledger ledger,
              std::int64_t random_cases = 200, std::vector<Case> cases = {},
              const Backend& backend = cpu_backend()) {
  RunOptions options;
  options.properties = std::move(properties);
  options.cases = std::move(cases);
  options.random_cases = random_cases;
  options.backend = &backend;
  options.ledger = std::move(ledger);
  return run_properties(options);
}

RunReport run(const Property& property, Ledger ledger, std::int64_t random_cases = 200,
              std::vector<Case> cases = {}, const Backend& backend = cpu_backend()) {
  return run(std::vector{&property}, std::move(ledger), random_cases, std::move(cases), backend);
}

const std::string kWide = "mla1:1q1s3;heads=128";
// One request, one work, no merge: the LSE after stage 1 is that of the result.
const std::string kSmall = "mla1:1q1s40;heads=16;cu=4";

}  // namespace

TEST_CASE("ledger: a listed failure is counted and reddens nothing", "[judge][ledger]") {
  const RunReport red = run(kManyHeads, {});
  CHECK(red.exit_code() == ExitCode::failed);
  const RunReport report = run(kManyHeads, {anywhere(Damage::claim, &kManyHeads, kWide)});
  CHECK(report.exit_code() == ExitCode::held);
  CHECK(report.cases == 200);
  CHECK(report.tallies[0].failed == 0);
  CHECK(report.tallies[0].known > 1);
  CHECK(report.ledger[0].failed == report.tallies[0].known);
  CHECK(report.ledger[0].verdict == Verdict::known_fail);
}

TEST_CASE("ledger: a fault that the CPU backend reports too needs no entry", "[judge][ledger]") {
  const std::vector<Case> cases = {case_of(kSmall)};
  const Broken broken(16, 0.5F);
  const Ledger value = {finding(Damage::value, nullptr, kSmall)};
  const RunReport report = run(kDamaged, value, 0, cases, broken);
  CHECK(report.tallies[0].known == 1);
  CHECK(report.tallies[0].failed == 0);
  CHECK(run(kDamaged, {}, 0, cases, broken).tallies[0].failed == 1);
}

TEST_CASE("ledger: covered are cases in which a property of the entry ran, and no other",
          "[judge][ledger]") {
  const std::vector<Case> cases = {case_of(kSmall)};
  const auto covered = [&](const Property& asked, LedgerEntry entry) {
    return run(asked, {std::move(entry)}, 0, cases).ledger[0].covered;
  };
  LedgerEntry of_another = finding(Damage::value, &kPaged, kSmall);
  of_another.properties = {&kPaged};
  CHECK(covered(kRight, of_another) == 0);
  CHECK(covered(kRight, finding(Damage::value, &kPaged, kSmall)) == 1);
  const Property looks_and_skips{"T06", "looks", "Looks at the result and skips.",
                                 [](Subject& s) { return s.result() ? skipped("no") : passed(); }};
  CHECK(covered(looks_and_skips, finding(Damage::value, &kPaged, kSmall)) == 0);
  // What holds without a launch is covered by a claim about every case.
  CHECK(covered(kHolds, finding(Damage::claim, &kPaged, kSmall)) == 0);
  CHECK(covered(kHolds, anywhere(Damage::claim, &kPaged, kSmall)) == 1);
}

TEST_CASE("ledger: a witness that passes is an unexpected pass", "[judge][ledger]") {
  const RunReport report = run(kHolds, {anywhere(Damage::claim, &kHolds, kWide)}, 1);
  CHECK(report.exit_code() == ExitCode::unexpected_pass);
  CHECK(report.ledger[0].message.find("heads=128") != std::string::npos);
  const RunReport skips = run(kSkips, {anywhere(Damage::claim, &kSkips, kWide)}, 1);
  CHECK(skips.ledger[0].verdict == Verdict::inconclusive);
  // The witness of a property that is not asked is left.
  const RunReport other = run(kHolds, {anywhere(Damage::claim, &kManyHeads, kWide)}, 1);
  CHECK(other.exit_code() == ExitCode::held);
}

TEST_CASE(
    "ledger: a witness that is declined is left where another one of the entry fails, or passes",
    "[judge][ledger]") {
  LedgerEntry entry = anywhere(Damage::claim, &kSkips, kWide);
  const auto verdict = [&entry](const Property& property) {
    return run(std::vector{&property, &kSkips}, {entry}, 1).ledger[0].verdict;
  };
  entry.witnesses.push_back({case_of(kWide), &kManyHeads});
  CHECK(verdict(kManyHeads) == Verdict::known_fail);
  entry.witnesses.back().property = &kHolds;
  CHECK(verdict(kHolds) == Verdict::unexpected_pass);
}

TEST_CASE("ledger: a failure is known when its launches are wrong as listed", "[judge][ledger]") {
  const Broken broken(16, 0.5F);
  const std::vector<Case> cases = {case_of(kSmall),
                                   case_of("mla1:1q1s40;heads=128;cu=4;planner=none")};
  const auto judged = [&](Ledger ledger) {
    return run(kRight, std::move(ledger), 0, cases, broken);
  };
  CHECK(judged({}).exit_code() == ExitCode::failed);
  const RunReport known = judged({finding(Damage::value, &kRight, kSmall)});
  CHECK(known.exit_code() == ExitCode::held);
  CHECK(known.tallies[0].known == 1);
  CHECK(known.ledger[0].covered == 1);  // not the case of 128 heads
  CHECK(known.ledger[0].failed == 1);
  // The same region, wrong in another way than listed.
  const RunReport red = judged({finding(Damage::nan, &kRight, kSmall)});
  REQUIRE(red.exit_code() == ExitCode::failed);
  CHECK(red.failures[0].outcome.details.back().starts_with(
      "a launch is wrong: value; the ledger has T-1 here for nan: LSE after stage 1 row 0 head 0"));
  CHECK(red.ledger[0].verdict == Verdict::inconclusive);
  // An entry for other properties does not cover this one.
  LedgerEntry narrow = finding(Damage::value, nullptr, "");
  narrow.properties = {&kHolds};
  CHECK(judged({narrow}).exit_code() == ExitCode::failed);
}

TEST_CASE("ledger: NaN, poison, faults and refusals are told apart", "[judge][ledger]") {
  const auto covers_only = [](const Backend& backend, Damage damage) {
    for (const Damage listed : {Damage::unwritten, Damage::nan, Damage::value, Damage::fault,
                                Damage::refused, Damage::claim}) {
      INFO(kDamageNames[static_cast<std::size_t>(listed)]);
      const RunReport report =
          run(kRight, {finding(listed, nullptr, "")}, 0, {case_of(kSmall)}, backend);
      CHECK((report.exit_code() == ExitCode::held) == (listed == damage));
    }
  };
  covers_only(Broken(16, 0.5F), Damage::value);
  covers_only(Broken(16, std::numeric_limits<float>::quiet_NaN()), Damage::nan);
  covers_only(Broken(16, std::bit_cast<float>(kPoisonF32)), Damage::unwritten);
  class Faulty final : public Backend {
   public:
    explicit Faulty(bool refuses) : refuses_(refuses) {}
    [[nodiscard]] std::string_view name() const override { return cpu_backend().name(); }
    [[nodiscard]] std::string_view device(StepKind kind) const override {
      return cpu_backend().device(kind);
    }
    [[nodiscard]] Support supports(const ResolvedShape&) const override { return {true, {}}; }
    [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                           const ExecutionOptions& options) const override {
      if (refuses_) return Error{ErrorCode::fault, "no"};
      auto result = cpu_backend().run(launch, options);
      result->faults.push_back({"a read past the end", -1, -1});
      return result;
    }

   private:
    bool refuses_;
  };
  covers_only(Faulty(false), Damage::fault);
  covers_only(Faulty(true), Damage::refused);
}

TEST_CASE("ledger: a listed claim is known where all launches are right, and no other is",
          "[judge][ledger]") {
  static constexpr Property kNever{"T06", "never", "Never holds.", [](Subject& s) {
                                     return s.result() ? failed("a bit differs") : skipped("no");
                                   }};
  LedgerEntry entry = finding(Damage::value, nullptr, "");
  const auto exit_of = [&](const Property& property, const Backend& backend) {
    return run(property, {entry}, 0, {case_of(kSmall)}, backend).exit_code();
  };
  CHECK(exit_of(kNever, cpu_backend()) == ExitCode::failed);
  entry.claims = {&kHolds};
  CHECK(exit_of(kNever, cpu_backend()) == ExitCode::failed);
  entry.claims = {&kHolds, &kNever};
  CHECK(exit_of(kNever, cpu_backend()) == ExitCode::held);
  // A launch that is wrong has to be wrong as listed, claim or not.
  CHECK(exit_of(kNever, Broken(16, std::numeric_limits<float>::quiet_NaN())) == ExitCode::failed);
  CHECK(exit_of(kNever, Broken(16, 0.5F)) == ExitCode::held);
}

TEST_CASE("ledger: a claim about prefill steps covers no step of another kind", "[judge][ledger]") {
  static constexpr Property kNever{"T07", "never", "Never holds.", [](Subject& s) {
                                     if (s.spec().kind() == StepKind::prefill)
                                       return s.prefill() ? failed("no") : skipped("no");
                                     return s.result() ? failed("no") : skipped("no");
                                   }};
  LedgerEntry entry = anywhere(Damage::claim, nullptr, "");
  const auto exit_of = [&](const std::string& line) {
    return run(kNever, {entry}, 0, {case_of(line)}).exit_code();
  };
  const std::string prefill = "mla1:1q4s4;dtype=bf16/fp8;arch=gfx950;kind=prefill";
  CHECK(exit_of(prefill) == ExitCode::held);
  CHECK(exit_of(kSmall) == ExitCode::held);
  entry.kind = StepKind::prefill;
  CHECK(exit_of(prefill) == ExitCode::held);
  CHECK(exit_of(kSmall) == ExitCode::failed);
  entry.kind = StepKind::decode;
  CHECK(exit_of(prefill) == ExitCode::failed);
  CHECK(exit_of(kSmall) == ExitCode::held);
}

TEST_CASE("ledger: damage that a property saw of a prefill step is covered if all of it is listed",
          "[judge][ledger]") {
  static constexpr Property kWrong{"T08", "wrong", "A NaN becomes a number.", [](Subject& s) {
                                     if (s.spec().kind() != StepKind::prefill) return passed();
                                     Outcome outcome = failed("no");
                                     outcome.damage = Damage::value;
                                     return outcome;
                                   }};
  LedgerEntry entry = anywhere({}, nullptr, "");
  entry.kind = StepKind::prefill;
  const auto report = [&](DamageSet listed) {
    entry.damage = listed;
    return run(kWrong, {entry}, 0, {case_of("mla1:1q4s4;dtype=bf16/fp8;arch=gfx950;kind=prefill")});
  };
  const RunReport known = report(Damage::value);
  CHECK(known.exit_code() == ExitCode::held);
  CHECK(known.ledger[0].covered == 1);
  CHECK(known.ledger[0].failed == 1);
  CHECK(report(Damage::claim).exit_code() == ExitCode::failed);
  const RunReport red = report(Damage::nan);
  REQUIRE(red.exit_code() == ExitCode::failed);
  CHECK(red.ledger[0].covered == 1);
  CHECK(red.ledger[0].failed == 0);
  CHECK(red.failures[0].outcome.details.back() ==
        "results are wrong: value; the ledger has T-1 here for nan");
}

TEST_CASE("ledger: the condition is asked of what a property launched", "[judge][ledger]") {
  const Broken broken(16, 0.5F, 16);  // right for the case, wrong for its sibling
  LedgerEntry entry = finding(Damage::value, nullptr, "");
  Condition page;
  page.fact = find_fact("page");
  page.ranges = {{2, 64}};
  entry.where[0].push_back(page);
  CHECK(run(kPaged, {}, 0, {case_of(kSmall)}, broken).exit_code() == ExitCode::failed);
  CHECK(run(kPaged, {entry}, 0, {case_of(kSmall)}, broken).exit_code() == ExitCode::held);
  entry.where[0].back().ranges = {{1, 1}};
  CHECK(run(kPaged, {entry}, 0, {case_of(kSmall)}, broken).exit_code() == ExitCode::failed);
}

TEST_CASE("ledger: a finding about timing covers launches under a timing, and no other",
          "[judge][ledger]") {
  const Broken broken(16, 0.5F);
  LedgerEntry entry = finding(Damage::value, nullptr, "");
  entry.timing = true;
  CHECK(run(kTimed, {entry}, 0, {case_of(kSmall)}, broken).exit_code() == ExitCode::held);
  CHECK(run(kRight, {entry}, 0, {case_of(kSmall)}, broken).exit_code() == ExitCode::failed);
  entry.timing = false;
  CHECK(run(kTimed, {entry}, 0, {case_of(kSmall)}, broken).exit_code() == ExitCode::held);
}

TEST_CASE("ledger: a finding that says something explains failures that say it, and no other",
          "[judge][ledger]") {
  const Broken broken(16, 0.5F);
  for (LedgerEntry entry :
       {finding(Damage::value, nullptr, ""), anywhere(Damage::claim, nullptr, "")}) {
    const Property& property = entry.where.empty() ? kManyHeads : kRight;
    const Case c = case_of(entry.where.empty() ? kWide : kSmall);
    entry.says = entry.where.empty() ? "there are 128" : "LSE 0 is";
    CHECK(run(property, {entry}, 0, {c}, broken).exit_code() == ExitCode::held);
    entry.says = "something else";
    CHECK(run(property, {entry}, 0, {c}, broken).exit_code() == ExitCode::failed);
  }
}

TEST_CASE("ledger: a finding about a backend's own plans concerns no backend without", "[ledger]") {
  LedgerEntry entry = anywhere(Damage::claim, nullptr, "");
  entry.own_plans = true;
  CHECK(concerning({entry}, "aiter", true).size() == 1);
  CHECK(concerning({entry}, "aiter", false).empty());
}

TEST_CASE("ledger: a finding about launches hides no failure without one", "[judge][ledger]") {
  DamageSet every;
  for (const Damage damage :
       {Damage::unwritten, Damage::nan, Damage::value, Damage::fault, Damage::refused})
    every.add(damage);
  CHECK(run(kManyHeads, {anywhere(every, nullptr, "")}).exit_code() == ExitCode::failed);
  // Of the listed kind, but for other cases: no shrink slides into what is listed.
  LedgerEntry entry = anywhere(Damage::claim, &kManyHeads, kWide);
  Condition heads;
  heads.fact = find_fact("heads");
  heads.ranges = {{128, 128}};
  entry.where = {{heads}};
  const RunReport report = run(kManyHeads, {entry}, 2000);
  REQUIRE(report.exit_code() == ExitCode::failed);
  CHECK(report.failures[0].smallest.heads > 64);
  CHECK(report.failures[0].smallest.heads <= 112);
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
