// The device language of HIP: each program of this folder beside arithmetic of the host.
#include "language.hpp"
#include "hip_backend/hip_runtime/runtime.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;

namespace {

using Differing = std::vector<std::string>;

void within_bounds(const std::vector<hip_language::Sweep>& sweeps) {
  REQUIRE(sweeps.size() > 30);
  for (const auto& sweep : sweeps) {
    INFO(sweep.name << " at " << sweep.at);
    CHECK(sweep.worst <= sweep.bound);
  }
  REQUIRE(hip::take_launched().faults.empty());
}

}  // namespace

TEST_CASE("functions of double are within their bounds of ulp of the host's long double") {
  within_bounds(hip_language::sweeps_of_double());
}
TEST_CASE("functions of float are within their bounds of ulp of the host's long double") {
  within_bounds(hip_language::sweeps_of_float());
}
TEST_CASE("exact functions of two numbers give the host's bits") {
  REQUIRE(hip_language::differing_exact_functions() == Differing{});
}
TEST_CASE("half, bfloat16 and fp8 convert and calculate as the host does, for every code") {
  REQUIRE(hip_language::differing_half() == Differing{});
  REQUIRE(hip_language::differing_bfloat16() == Differing{});
  REQUIRE(hip_language::differing_fp8() == Differing{});
}
TEST_CASE("scans and sorts of a workgroup are right, and no check of a workgroup has a finding") {
  (void)hip::take_launched();
  hip::set_device({.options = {.checks = mla::gfx::every_check}});
  REQUIRE(hip_language::wrong_hipcub() == Differing{});
  hip::set_device({});
  const auto launched = hip::take_launched();
  REQUIRE(launched.launches == 2);
  REQUIRE(launched.findings == Differing{});
  REQUIRE(launched.faults == Differing{});
}
TEST_CASE("operators of vector types work on each element") {
  REQUIRE(hip_language::differing_vector_types() == Differing{});
}
