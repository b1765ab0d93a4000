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
TEST_CASE("operators of vector types work on each element") {
  REQUIRE(hip_language::differing_vector_types() == Differing{});
}
