#include "tests/properties/drawn.hpp"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/say.hpp"
#include "properties/app/shell_word.hpp"
#include "properties/generate/cases.hpp"
#include "properties/generate/hash.hpp"
#include "properties/judge/minimise.hpp"
#include "tests/catch.hpp"

namespace mla::test {
namespace {

using prop::Outcome;
using prop::Verdict;

// A claim that says nothing about so many cases for each one that it is to hold for is of no use.
constexpr std::int64_t kDrawsOfCase = 60;
constexpr std::int64_t kShrinks = 400;

std::uint64_t seed_of(const DrawnClaim& claim) {
  const char* given = std::getenv("MLA_DRAWN_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : claim.seed;
}

Case drawn_case(const DrawnClaim& claim, std::uint64_t seed, std::int64_t number) {
  const std::int64_t turn = number % std::ssize(claim.regimes);
  return prop::random_case(prop::mix(seed, static_cast<std::uint64_t>(number)),
                           static_cast<int>(number % 101),
                           claim.regimes[static_cast<std::size_t>(turn)]);
}

std::optional<Outcome> failure_of(const DrawnClaim& claim, const Case& c) {
  Outcome outcome = claim.holds(c);
  if (outcome.verdict != Verdict::fail) return std::nullopt;
  return outcome;
}

std::string text_of(const DrawnClaim& claim, std::uint64_t seed, std::int64_t number,
                    const prop::Minimum& minimum) {
  const std::string line = format_case(minimum.smallest);
  std::string out = say("FAIL ", line, "\n", minimum.outcome.message, "\n");
  for (const std::string& detail : minimum.outcome.details) out += detail + "\n";
  return say(out, "seed ", seed, ", case ", number, ", ", minimum.shrinks, " times smaller\n",
             "REPRO: MLA_DRAWN_CASE=", app::shell_word(line), " ", program_invocation_name, " \"",
             claim.name, "\"", claim.section.empty() ? "" : say(" -c \"", claim.section, "\""));
}

Drawn replayed(const DrawnClaim& claim, std::string_view line) {
  const auto c = parse_case(line);
  if (!c) return {.failure = "MLA_DRAWN_CASE: " + c.error().message, .smallest = {}};
  const Outcome outcome = claim.holds(*c);
  if (outcome.verdict == Verdict::pass) return {.held = 1, .failure = {}, .smallest = {}};
  std::string said = say(prop::name(outcome.verdict), ": ", outcome.message);
  for (const std::string& detail : outcome.details) said += "\n" + detail;
  return {.failure = said, .smallest = format_case(*c)};
}

}  // namespace

Drawn draw(const DrawnClaim& claim) {
  if (const char* line = std::getenv("MLA_DRAWN_CASE")) return replayed(claim, line);
  const std::uint64_t seed = seed_of(claim);
  Drawn out;
  for (std::int64_t n = 0; out.held < claim.cases && n < kDrawsOfCase * claim.cases; ++n) {
    const Case c = drawn_case(claim, seed, n);
    const Outcome outcome = claim.holds(c);
    if (outcome.verdict == Verdict::pass) ++out.held;
    if (outcome.verdict == Verdict::skip) ++out.skipped;
    if (outcome.verdict != Verdict::fail) continue;
    const prop::Minimum minimum = prop::minimise(
        c, outcome, [&](const Case& simpler) { return failure_of(claim, simpler); }, kShrinks,
        [] { return false; });
    out.failure = text_of(claim, seed, n, minimum);
    out.smallest = format_case(minimum.smallest);
    break;
  }
  return out;
}

void require_drawn(const DrawnClaim& claim) {
  const Drawn drawn = draw(claim);
  INFO(drawn.failure);
  INFO(drawn.held << " cases held, " << drawn.skipped << " were skipped");
  REQUIRE(drawn.failure.empty());
  REQUIRE((drawn.held == claim.cases || std::getenv("MLA_DRAWN_CASE") != nullptr));
}

void require_noticed(const DrawnClaim& claim) {
  const Drawn drawn = draw(claim);
  INFO(claim.name << ": " << drawn.held << " cases held, " << drawn.skipped << " were skipped");
  REQUIRE_FALSE(drawn.failure.empty());
}

}  // namespace mla::test
