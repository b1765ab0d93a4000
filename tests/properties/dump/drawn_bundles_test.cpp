// Claims about bundles of drawn steps: as captured, and changed in ways that are legal, they are
// valid and give the captured result again; damaged in one way, the first finding and the diagnosis
// name the damage and its value.
#include <algorithm>
#include <utility>

#include "core/engine/run_decode.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/app/capture_case.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/replay/step.hpp"
#include "tests/properties/drawn.hpp"
#include "tests/properties/dump/bundle_changes.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;
using namespace mla::test;
using dump::Answer;
using dump::Bundle;

namespace {

Result<Answer> checked(const Bundle& bundle) {
  const auto read = dump::read_dump(bundle);
  return read ? dump::check(*read) : Result<Answer>(read.error());
}

std::string first_of(const Answer& answer) {
  return answer.findings.empty() ? "valid"
                                 : say(answer.findings[0].rule, ": ", answer.findings[0].what);
}

// Whether the captured step gives the captured result on the CPU backend.
std::string replay_differs(const Bundle& bundle) {
  const auto read = dump::read_dump(bundle);
  if (!read) return read.error().message;
  const auto step = dump::captured_step(*read);
  if (!step) return "captured_step: " + step.error().message;
  const auto again = run_decode(cpu_backend(), {(*step)->metadata, (*step)->tensors},
                                {.threads = 1}, StepHooks::none());
  if (!again) return "replay: " + again.error().message;
  if (!again->faults.empty()) return "replay: " + again->faults[0].what;
  const std::size_t elements = std::min(again->out.size(), (*step)->out.size());
  for (std::size_t i = 0; i < elements; ++i)
    if (again->out[i] != (*step)->out[i])
      return say("replay: element ", i, " of out is ", again->out[i], ", captured ",
                 (*step)->out[i]);
  return {};
}

Outcome stays_valid(const BundleFreedom& freedom, const Bundle& captured, const Case& c) {
  Random random(c, freedom.name);
  Changed changed(captured, c, random);
  if (!freedom.apply(changed)) return skipped("no such word");
  const auto answer = checked(changed.bundle());
  if (!answer) return failed(say(freedom.name, ": ", answer.error().message));
  if (!answer->findings.empty()) return failed(say(freedom.name, ": ", first_of(*answer)));
  if (const auto bad = replay_differs(changed.bundle()); !bad.empty())
    return failed(say(freedom.name, ": ", bad));
  return passed();
}

Outcome is_named(const BundleDamage& damage, const Bundle& captured, const Case& c) {
  Random random(c, damage.name);
  Changed changed(captured, c, random);
  const auto expected = damage.apply(changed);
  if (!expected) return skipped("no such word");
  const auto answer = checked(changed.bundle());
  if (!answer) return failed(say(damage.name, ": ", answer.error().message));
  const std::string found =
      say(damage.name, ": ", first_of(*answer), "; ", answer->culprit, ": ", answer->diagnosis);
  if (answer->findings.empty()) return failed(found);
  if (!expected->rule.empty() && answer->findings[0].rule != expected->rule)
    return failed(say(found, "; expected rule ", expected->rule));
  if (answer->findings[0].what.find(expected->what) == std::string::npos)
    return failed(say(found, "; expected ", expected->what));
  if (!expected->culprit.empty() &&
      (answer->culprit != expected->culprit || answer->diagnosis.find(expected->diagnosis) != 0))
    return failed(say(found, "; expected ", expected->culprit, ": ", expected->diagnosis));
  return passed();
}

using BundleClaim = std::function<Outcome(const Bundle&, const Case&)>;

DrawnClaim of_bundles(const char* name, const char* section, std::int64_t cases, BundleClaim holds,
                      std::uint64_t seed) {
  return {name,
          {Regime::boundary, Regime::tiles},
          cases,
          [holds = std::move(holds)](const Case& c) {
            if (c.kind() != StepKind::decode) return skipped("no decode step");
            const auto captured = app::capture_case(c, cpu_backend(), Interposer::none());
            if (!captured) return refusal(captured.error());
            return holds(*captured, c);
          },
          seed,
          section};
}

constexpr const char* kNamed =
    "drawn bundles: a damage is the first finding, with its value, and the diagnosis names it";
constexpr const char* kValid =
    "drawn bundles: a legal change stays valid, and gives the captured result again";

DrawnClaim named(const BundleDamage& damage, std::int64_t cases, std::uint64_t seed = 1) {
  return of_bundles(
      kNamed, damage.name, cases,
      [&damage](const Bundle& b, const Case& c) { return is_named(damage, b, c); }, seed);
}

DrawnClaim valid(const BundleFreedom& freedom, std::int64_t cases, std::uint64_t seed = 1) {
  return of_bundles(
      kValid, freedom.name, cases,
      [&freedom](const Bundle& b, const Case& c) { return stays_valid(freedom, b, c); }, seed);
}

}  // namespace

TEST_CASE(
    "drawn bundles: a damage is the first finding, with its value, and the diagnosis names "
    "it",
    "[check][drawn]") {
  for (const BundleDamage& damage : bundle_damages()) {
    SECTION(damage.name) {
      require_drawn(named(damage, 12));
    }
  }
}

TEST_CASE("drawn bundles: a legal change stays valid, and gives the captured result again",
          "[check][replay][drawn]") {
  for (const BundleFreedom& freedom : bundle_freedoms()) {
    SECTION(freedom.name) {
      require_drawn(valid(freedom, 12));
    }
  }
}

TEST_CASE("drawn bundles, many", "[.nightly]") {
  for (const BundleDamage& damage : bundle_damages()) require_drawn(named(damage, 300, 2));
  for (const BundleFreedom& freedom : bundle_freedoms()) require_drawn(valid(freedom, 300, 2));
}
