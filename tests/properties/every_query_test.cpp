// Every query length with every head count: the rows of a request are what one-row decodes of the
// keys that they see give, whatever path the shape takes.
#include <set>

#include "cpu_backend/cpu_backend.hpp"
#include "properties/judge/runner.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

// 1, or more under a sanitizer: it looks at the code, which fewer head counts reach as well.
constexpr std::int64_t kHeadStep = MLA_HEAD_STEP;

// Architecture, dtype and raising go round with the heads, so that each query length meets all.
Case case_of(std::int64_t q, std::int64_t heads) {
  const std::int64_t turn = heads + 5 * q;
  Case c;
  c.requests = {{q, q + turn % 3}, {q, q}};
  c.heads = heads;
  c.arch = turn % 2 == 0 ? Arch::gfx942 : Arch::gfx950;
  c.compute_units = 4;
  c.dtype = turn % 5 == 0   ? DtypePair{Dtype::bf16, Dtype::fp8}
            : turn % 5 == 1 ? DtypePair{Dtype::fp8, Dtype::fp8}
                            : DtypePair{};
  c.decode().kernel_rows = turn % 7 == 0 ? 4 : 0;
  c.data.seed = static_cast<std::uint64_t>(turn);
  return c;
}

}  // namespace

TEST_CASE("rows: each equals a one-row decode, for 1 to 17 rows of 1 to 128 heads", "[P12][P13]") {
  const auto backend = cpu::make_cpu_backend();
  prop::RunOptions options;
  options.properties = {prop::find_property("P12"), prop::find_property("P13")};
  options.backend = backend.get();
  std::set<std::pair<std::int64_t, std::int64_t>> wanted;
  for (std::int64_t q = 1; q <= 17; ++q)
    for (std::int64_t heads = 1 + q % kHeadStep; heads <= 128; heads += kHeadStep) {
      options.cases.push_back(case_of(q, heads));
      wanted.insert({q, heads});
    }
  REQUIRE(std::ssize(wanted) >= 17 * 128 / kHeadStep);
  const prop::RunReport report = prop::run_properties(options);
  for (const prop::Failure& failure : report.failures) UNSCOPED_INFO(prop::failure_block(failure));
  CHECK(report.failures.empty());
  CHECK(report.cases == std::ssize(options.cases));
  // No query length and no head count is refused on both architectures, so P12 ran almost always.
  CHECK(report.tallies[0].ran + report.refused == report.cases);
  INFO(report.refused << " refused, first: " << report.tallies[0].why_skipped);
  CHECK(report.refused == 0);
}
