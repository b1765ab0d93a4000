// How launches run, said from outside of a program: hipTestbedSetRun() and the environment.
#include <hip/hip_testbed.h>

#include <cstdio>
#include <string>

#include "hip_backend/hip_runtime/runtime.hpp"
#include "own_process.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;

namespace {

// Whether each wave of unguarded() saw what the other one wrote.
std::string seen() {
  const auto out = hip_program::unguarded();
  std::string who;
  if (out[0] == 1064) who += "first ";
  if (out[64] == 1000) who += "second";
  return who;
}

std::string said_with(const std::string& variables) {
  return hip_program::said_with(variables, "who is seen");
}

}  // namespace

TEST_CASE("hipTestbedSetRun chooses turns, checks and when memory answers, and takes them back") {
  REQUIRE(hipTestbedSetRun("", "slice=0", nullptr, nullptr) == hipSuccess);
  CHECK(seen() == "second");
  REQUIRE(hipTestbedSetRun("", "slice=0,order=reverse", "", "fast") == hipSuccess);
  CHECK(seen() == "first ");
  CHECK(hip::take_launched().findings.empty());

  REQUIRE(hipTestbedSetRun("lds", "", "", "") == hipSuccess);
  (void)seen();
  const auto raced = hip::take_launched().findings;
  REQUIRE(!raced.empty());
  CHECK(raced[0].starts_with("lds-race: "));

  // Both together are refused at the launch, so both have arrived.
  REQUIRE(hipTestbedSetRun("waits", "", "late", "") == hipSuccess);
  (void)seen();
  CHECK(!hip::take_launched().faults.empty());

  REQUIRE(hipTestbedSetRun(nullptr, nullptr, nullptr, nullptr) == hipSuccess);
  (void)seen();
  const auto usual = hip::take_launched();
  CHECK(usual.findings.empty());
  CHECK(usual.faults.empty());
  (void)hipGetLastError();
}

TEST_CASE("hipTestbedSetRun refuses other words, tells them, and changes nothing") {
  REQUIRE(hipTestbedSetRun("", "slice=0", "", "") == hipSuccess);
  CHECK(hipTestbedSetRun("", "slice=0,order=reverse", "soon", "") == hipErrorInvalidValue);
  const auto told = hip::take_launched().faults;
  REQUIRE(told.size() == 1);
  CHECK(told[0] ==
        "arrival has value 'soon': expected early, late, random.<seed> or after.<instructions>");
  CHECK(seen() == "second");
  CHECK(hipTestbedSetRun("", "", "", "precise") == hipErrorInvalidValue);
  REQUIRE(hipTestbedSetRun("", "", "", "") == hipSuccess);
  (void)hip::take_launched();
  (void)hipGetLastError();
}

// Run by the next one in a process of its own; hidden.
TEST_CASE("who is seen", "[.]") {
  std::printf("seen: %s\n", seen().c_str());
}

TEST_CASE("MLA_TESTBED_SCHEDULE and MLA_HIP_CHECKS take the words of the command line") {
  CHECK(said_with("MLA_TESTBED_SCHEDULE=slice=0").find("seen: second\n") != std::string::npos);
  CHECK(said_with("MLA_TESTBED_SCHEDULE=slice=0,order=reverse").find("seen: first \n") !=
        std::string::npos);
  const std::string race = "HIP on the emulator: lds-race: ";
  CHECK(said_with("MLA_HIP_CHECKS=lds").find(race) != std::string::npos);
  CHECK(said_with("MLA_HIP_CHECKS=1").find(race) != std::string::npos);
  CHECK(said_with("MLA_HIP_CHECKS=waits").find(race) == std::string::npos);
  CHECK(said_with("MLA_HIP_CHECKS=wait")
            .find("HIP on the emulator: MLA_HIP_CHECKS has value "
                  "'wait': 'wait' is no check") != std::string::npos);
  CHECK(said_with("MLA_TESTBED_ARRIVAL=soon").find("MLA_TESTBED_ARRIVAL has value 'soon'") !=
        std::string::npos);
  CHECK(said_with("MLA_TESTBED_ARRIVAL=late MLA_HIP_CHECKS=lds").find("late") != std::string::npos);
}

// Run by the next one in processes of their own; hidden.
TEST_CASE("who is seen before it fails", "[.]") {
  std::printf("seen: %s\n", seen().c_str());
  FAIL("on purpose");
}

TEST_CASE("MLA_TESTBED_EXIT_CODE ends a program of which something was found, and no other") {
  const auto ended = [](const std::string& variables) {
    return hip_program::ended_with(variables, "who is seen");
  };
  CHECK(ended("MLA_HIP_CHECKS=lds").code == 0);
  const auto found = ended("MLA_HIP_CHECKS=lds MLA_TESTBED_EXIT_CODE=77");
  CHECK(found.code == 77);
  CHECK(found.text.find("seen: ") != std::string::npos);
  CHECK(found.text.find("lds-race: ") != std::string::npos);
  CHECK(ended("MLA_TESTBED_EXIT_CODE=77").code == 0);
  CHECK(ended("MLA_HIP_CHECKS=lds MLA_TESTBED_EXIT_CODE=").code == 0);
  const auto refused = ended("MLA_TESTBED_EXIT_CODE=256");
  CHECK(refused.code == 1);
  CHECK(refused.text.find("MLA_TESTBED_EXIT_CODE is '256'; expected 1 to 255") !=
        std::string::npos);
  const auto failed = hip_program::ended_with("MLA_HIP_CHECKS=lds MLA_TESTBED_EXIT_CODE=77",
                                              "who is seen before it fails");
  CHECK(failed.code == 1);
}
