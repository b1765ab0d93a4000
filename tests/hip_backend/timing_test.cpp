// P43: a wait that is taken out of stage 1 is noticed under some timing, and the pair of
// instructions is named.
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/gfx_emulator/mutants.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;

namespace {

prop::Outcome p43(const std::shared_ptr<hip::Device>& device, const char* line) {
  const auto backend = hip::make_hip_backend(device, {});
  prop::Subject subject(*parse_case(line), *backend, nullptr);
  return prop::find_property("P43")->check(subject);
}

}  // namespace

TEST_CASE("timing: words name the drawn turns and arrival", "[hip][emulated][P43]") {
  CHECK(hip::timing_words(0) == "--schedule slice=4 --arrival early");
  CHECK(hip::timing_words(12 + 3) == "--schedule slice=64,order=shuffled.15 --arrival early");
  CHECK(hip::timing_words(12 + 4) == "--schedule slice=0,order=shuffled.16 --arrival late");
  CHECK(hip::timing_words(24 + 9) == "--schedule slice=1,order=shuffled.33 --arrival random.33");
}

TEST_CASE("timing: P43 notices waits taken out of stage 1, and names what they waited for",
          "[hip][emulated][P43]") {
  if (!hip::test::has_code(Arch::gfx942, "decode")) return;
  const auto code = hip::code_object("gfx942", "decode");
  std::vector<gfx_test::Mutant> waits = gfx_test::mutants_of(code, "decode_bf16_bf16_r16");
  std::erase_if(waits,
                [](const gfx_test::Mutant& m) { return m.kind != gfx_test::Mutation::no_wait; });
  REQUIRE(waits.size() > 100);
  constexpr const char* kLine = "mla1:1q1s130_1q1s40;cu=2";
  CHECK(p43(gfx_test::make_mutated_device(Arch::gfx942, {.checks = false}, code, code), kLine)
            .verdict == prop::Verdict::pass);
  int noticed = 0;
  int tried = 0;
  for (std::size_t i = 0; i < waits.size(); i += 9, ++tried) {
    const auto device =
        gfx_test::make_mutated_device(Arch::gfx942, {.checks = false}, code, waits[i].bytes);
    const prop::Outcome outcome = p43(device, kLine);
    if (outcome.verdict == prop::Verdict::pass) continue;
    INFO(waits[i].place << ": " << outcome.message);
    CHECK(outcome.message.find("missing-wait") != std::string::npos);
    ++noticed;
  }
  // The case does not reach every wait (docs/internals/emulator.md has the table).
  CAPTURE(noticed);
  CHECK(tried - noticed <= 1);
}
