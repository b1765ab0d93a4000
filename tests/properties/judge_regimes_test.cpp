// Claims about the regimes of random cases: they are what their names say, every run meets its
// quotas, and the table of the documentation is true.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "core/engine/prefill/capability.hpp"
#include "core/engine/prefill/prefill_shape.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/shape/resolved_shape.hpp"
#include "properties/generate/arbitrary_case.hpp"
#include "properties/generate/cases.hpp"
#include "properties/generate/cost.hpp"
#include "properties/judge/tags.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

constexpr std::int64_t kStandardRun = 500;  // random cases of properties/run.sh

// Whether a decode shape refuses the case; what other kinds refuse comes out in a run.
bool refused(const Case& c) {
  const auto batch = make_batch(c);
  return !batch.ok() || (c.kind() == StepKind::decode && !resolve_shape(c, *batch).ok());
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string row(std::string_view what, std::int64_t cases) {
  return "| " + std::string(what) + " | " + std::to_string(cases) + " |\n";
}

}  // namespace

TEST_CASE("regimes: every case reads back from its line, and few are refused", "[judge]") {
  for (const Regime regime : all_regimes()) {
    int refusals = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const Case c = random_case(seed, static_cast<int>(seed % 101), regime);
      const auto parsed = parse_case(format_case(c));
      INFO(name(regime) << ": " << format_case(c));
      REQUIRE(parsed.ok());
      REQUIRE(*parsed == c);
      refusals += refused(c) ? 1 : 0;
    }
    INFO(name(regime) << " refused: " << refusals);
    CHECK(refusals <= 20);
  }
}

TEST_CASE("regimes: what is too large to execute is drawn by regime engine and by no other",
          "[judge]") {
  for (const Regime regime : all_regimes())
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Case c = random_case(seed, static_cast<int>(seed % 101), regime);
      INFO(name(regime) << ": " << format_case(c).substr(0, 300));
      CHECK(why_not_executed(c, {}).has_value() == (regime == Regime::engine));
      std::int64_t keys = 0;
      for (const RequestSpec& r : c.requests) keys += r.kv_len;
      CHECK(keys <= 2'500'000);
    }
}

TEST_CASE("regimes: the standard run meets every quota, whatever its seed", "[judge]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::map<std::string_view, std::int64_t> seen;
    std::int64_t cases = 0;
    for (std::int64_t i = 0; i < kStandardRun; ++i) {
      const Case c = nth_case(seed, i, true);
      if (refused(c)) continue;
      ++cases;
      for (const Tag& tag : all_tags()) seen[tag.name] += tag.holds(c) ? 1 : 0;
    }
    for (const Tag& tag : all_tags()) {
      INFO("seed " << seed << ", " << tag.name << ": " << seen[tag.name] << " of " << cases);
      CHECK(seen[tag.name] * tag.one_in >= cases);
    }
  }
}

TEST_CASE("regimes: the cases of each kind, taken alone, meet every quota of the kind", "[judge]") {
  std::map<std::string_view, std::array<std::int64_t, 3>> seen;
  std::array<std::int64_t, 3> cases{};
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const Case c = nth_case(1, i, true);
    if (refused(c)) continue;
    const auto kind = static_cast<std::size_t>(c.kind());
    ++cases[kind];
    for (const Tag& tag : all_tags()) seen[tag.name][kind] += tag.holds(c) ? 1 : 0;
  }
  for (const Tag& tag : all_tags())
    for (std::size_t kind = 0; kind < cases.size(); ++kind) {
      INFO(name(static_cast<StepKind>(kind))
           << ", " << tag.name << ": " << seen[tag.name][kind] << " of " << cases[kind]);
      CHECK(cases[kind] > kQuotaCases);
      if (tag.kinds[kind]) CHECK(seen[tag.name][kind] * tag.one_in >= cases[kind]);
    }
}

TEST_CASE("regimes: a run without production shapes draws small cases only, one in four at tiles",
          "[judge]") {
  for (std::int64_t i = 0; i < 200; ++i) {
    if (i % 20 != 11) CHECK(regime_of(i, false) == (i % 4 == 3 ? Regime::tiles : Regime::boundary));
    CHECK(cost_of(nth_case(1, i, false)) <= std::max(budget_of(100), request_cost({1, 1}, 128)));
  }
}

TEST_CASE("regimes: without production shapes one case in twenty is a prefill with a plan",
          "[judge]") {
  for (std::int64_t i = 11; i < 2000; i += 20) {
    const Case c = nth_case(1, i, false);
    const auto batch = make_batch(c);
    REQUIRE(batch.ok());
    const auto shape = prefill::resolve_prefill_shape(c, *batch, StepHooks::none());
    INFO(format_case(c));
    REQUIRE(shape.ok());
    CHECK(shape->path != prefill::Path::flash);
  }
}

TEST_CASE("regimes: nine of ten cases of tiles have a length within 6 keys of a tile's",
          "[judge]") {
  constexpr std::array<std::int64_t, 6> kTiles{0, 16, 32, 64, 128, 256};
  const auto at_a_tile = [&](const RequestSpec& r) {
    return std::any_of(kTiles.begin(), kTiles.end(), [&](std::int64_t tile) {
      return std::abs(r.kv_len - std::max(tile, r.qo_len)) <= 6;
    });
  };
  std::int64_t found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = random_case(seed, 0, Regime::tiles);
    INFO(format_case(c));
    CHECK(c.kind() == StepKind::decode);
    found += std::any_of(c.requests.begin(), c.requests.end(), at_a_tile) ? 1 : 0;
  }
  CHECK(found >= 180);
}

// MLA_APPROVE=1 writes the tables into the page.
TEST_CASE(
    "regimes: the tables of docs/reference/properties.md are those of the standard run with seed 1",
    "[judge]") {
  std::map<Regime, std::int64_t> regimes;
  std::map<std::string_view, std::int64_t> tags;
  for (std::int64_t i = 0; i < kStandardRun; ++i) {
    const Case c = nth_case(1, i, true);
    ++regimes[regime_of(i, true)];
    for (const Tag& tag : all_tags()) tags[tag.name] += tag.holds(c) ? 1 : 0;
  }
  std::string tables = "| Regime | Cases |\n| --- | --- |\n";
  for (const Regime regime : all_regimes()) tables += row(name(regime), regimes[regime]);
  tables += "\n| Cases with | Cases | Quota |\n| --- | --- | --- |\n";
  for (const Tag& tag : all_tags())
    tables += "| " + std::string(tag.name) + " | " + std::to_string(tags[tag.name]) + " | 1 in " +
              std::to_string(tag.one_in) + " |\n";
  const std::string path = std::string(MLA_SOURCE) + "/docs/reference/properties.md";
  std::string page = text_of(path);
  const std::size_t from = page.find("| Regime | Cases |");
  REQUIRE(from != std::string::npos);
  const std::size_t to = page.find("\n\n", page.find("| Cases with |", from)) + 1;
  if (std::getenv("MLA_APPROVE") != nullptr)
    std::ofstream(path) << page.replace(from, to - from, tables);
  CHECK(page.substr(from, tables.size()) == tables);
}
