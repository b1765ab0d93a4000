// Claims about the self-test of the emulator's assumptions.
#include <fstream>
#include <regex>
#include <set>

#include "hip_backend/assumptions/assumption.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/device/null_device.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;

TEST_CASE("assumptions: each one that the emulator names has a kernel, or the reason why not",
          "[hip][assumptions]") {
  std::ifstream file(MLA_ASSUMPTIONS);
  REQUIRE(file.good());
  std::set<std::string> named;
  const std::regex heading("^// ([A-Z0-9]+(_[A-Z0-9]+)*)\\. .*");
  std::smatch match;
  for (std::string line; std::getline(file, line);)
    if (std::regex_match(line, match, heading)) named.insert(match[1]);
  REQUIRE(named.size() > 10);
  std::set<std::string> known;
  for (const auto& a : hip::testable_assumptions()) CHECK(known.insert(a.name).second);
  for (const auto& u : hip::untestable_assumptions()) CHECK(known.insert(u.name).second);
  CHECK(known == named);
}

TEST_CASE("assumptions: the emulator keeps its own", "[hip][emulated][assumptions]") {
  using Kind = hip::AssumptionResult::Kind;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (!hip::test::has_code(arch, "assumptions")) continue;
    const auto device = hip::make_emulated_device(arch, {.run = {.checks = gfx::every_check}});
    const auto results = hip::test_assumptions(*device);
    if (!results) FAIL(results.error().message);
    int held = 0;
    for (const auto& r : *results) {
      INFO(name(arch) << " " << r.name << ": " << r.detail);
      CHECK(r.kind != Kind::differs);
      if (r.kind == Kind::holds) ++held;
    }
    CHECK(held == (arch == Arch::gfx942 ? 15 : 20));
  }
}

TEST_CASE("assumptions: any other bit in any result is noticed", "[hip][assumptions]") {
  for (const auto& a : hip::testable_assumptions()) {
    for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
      const hip::LaneWords in = a.inputs();
      hip::LaneWords out = a.expected(arch, in);
      REQUIRE(hip::difference(a, arch, in, out).empty());
      const std::size_t words = out.size() / 64;
      for (std::size_t at = 0; at < out.size(); ++at) {
        if (at % words >= a.results) continue;
        out[at] ^= 0x00400000U;  // of a float more than an ulp; a NaN becomes infinite
        INFO(a.name << " " << at);
        CHECK_FALSE(hip::difference(a, arch, in, out).empty());
        out[at] ^= 0x00400000U;
      }
    }
  }
}

TEST_CASE("assumptions: where there is no device the answer says why", "[hip][assumptions]") {
  const auto device = hip::make_null_device("no GPU");
  const auto results = hip::test_assumptions(*device);
  REQUIRE_FALSE(results.ok());
  CHECK_THAT(results.error().message, mla::test::contains("no GPU"));
}
