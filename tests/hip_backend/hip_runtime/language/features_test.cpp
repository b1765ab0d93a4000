// Features of the device language that give right or wrong, and what kernels print.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "hip_backend/hip_runtime/runtime.hpp"
#include "language.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;

namespace {

using Names = std::vector<std::string>;

// stdout of a call, through a file.
template <class Call>
std::string printed_by(Call call) {
  std::fflush(stdout);
  const int before = dup(1);
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  dup2(fileno(file), 1);
  call();
  std::fflush(stdout);
  dup2(before, 1);
  close(before);
  std::rewind(file);
  std::string out;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) out += static_cast<char>(c);
  std::fclose(file);
  return out;
}

}  // namespace

TEST_CASE("features of the language give what they have to") {
  REQUIRE(hip_language::wrong_features(true) == Names{});
}

TEST_CASE("features and groups give the same under the checks of a workgroup, and no finding") {
  (void)hip::take_launched();
  // Not the races of global memory: the compiler's loop for a float's atomicAdd begins with a plain
  // load.
  mla::gfx::Checks checks = mla::gfx::every_check;
  checks.global_races = false;
  checks.lanes = true;
  hip::set_device({.options = {.checks = checks}});
  REQUIRE(hip_language::wrong_features(false) == Names{});
  REQUIRE(hip_language::wrong_groups() == Names{});
  hip::set_device({});
  const auto launched = hip::take_launched();
  REQUIRE(launched.launches == 8);
  REQUIRE(launched.findings == Names{});
  REQUIRE(launched.faults == Names{});
}

TEST_CASE("cooperative groups give what they have to") {
  REQUIRE(hip_language::wrong_groups() == Names{});
}

TEST_CASE("managed variables, clocks and launches between events give what they have to") {
  REQUIRE(hip_language::wrong_shared() == Names{});
  (void)hip::take_launched();
}

TEST_CASE("conversions round in the direction of their name, and complex numbers are the host's") {
  REQUIRE(hip_language::differing_roundings() == Names{});
  REQUIRE(hip_language::differing_complex() == Names{});
}

TEST_CASE("printf of a kernel prints what that of the host prints") {
  REQUIRE(printed_by(hip_language::print_everything) ==
          "text|  abc|left |%|x\n"
          "-7|   42|42   |00042|+42|4294967295|ff|0XFF|10\n"
          "-1099511627776|4611686018427387904|18446744073709551615|4|-3|65535\n"
          "1.500000|0.67|  -3.142|1.234568e+04|1e-10|0.0001\n"
          "0x1234|     9|1.00\n"
          "no arguments\n");
}

TEST_CASE("the lanes of a wave print in their order, call after call") {
  REQUIRE(printed_by(hip_language::print_in_order) == "5,0;37,0;5,1;37,1;5,2;37,2;");
}

TEST_CASE(
    "an assertion that does not hold ends the launch with its sentence, abort() with a trap") {
  (void)hip::take_launched();
  REQUIRE(printed_by([] { REQUIRE(hip_language::launch_with_assertion(3) == 0); }) ==
          "before\nafter\n");
  REQUIRE(hip::take_launched().faults == Names{});
  REQUIRE(printed_by([] { REQUIRE(hip_language::launch_with_assertion(4) == 710); }) == "before\n");
  const auto asserted = hip::take_launched().faults;
  REQUIRE(asserted.size() == 2);
  REQUIRE(asserted[0].find("print.hip:") != std::string::npos);
  REQUIRE(asserted[0].find("Assertion `value == 3 && \"the value has to be 3\"' failed.") !=
          std::string::npos);
  REQUIRE(hip_language::launch_with_abort() == 719);
  const auto aborted = hip::take_launched().faults;
  REQUIRE(aborted.size() == 1);
  REQUIRE(aborted[0].find("trap") != std::string::npos);
}
