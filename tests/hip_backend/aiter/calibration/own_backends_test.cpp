// plan_check against this project's own backends, which need no AITER: the same damaged, rearranged
// and random plans.
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/aiter/calibration/kernel.hpp"
#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;
using namespace mla::hip::aiter;
using namespace mla::hip::aiter::test;

namespace {

struct Tally {
  int valid = 0;
  int wrong = 0;
  int hidden = 0;  // right, although a row sees no key of a piece
};

// Every valid plan must come out right.
Tally calibrate(const Backend& backend, const char* line, std::size_t every) {
  const auto spec = parse_case(line);
  REQUIRE(spec.ok());
  const RowKey key = {.heads = spec->heads, .persistent = true, .causal = spec->causal};
  std::string reason;
  const auto test = KernelUnderTest::make(*spec, {.key = key, .kernel = {}, .file = {}},
                                          Installation::of({}, {}), {}, reason);
  INFO(line << " " << reason);
  REQUIRE(test != nullptr);
  std::mt19937_64 random(5);
  const plan::PlanCheckInput input = test->check_input(test->planned());
  const PlanWords base = words_of(input.plan);
  Tally tally;
  for (const auto& part : {single_words(base), damaged_works(base, input.page_size),
                           rearranged(base, random), random_plans(input, 8, random)}) {
    for (std::size_t i = 0; i < part.size(); i += every) {
      const plan::Plan plan = plan_of(part[i].plan);
      const auto found = plan::plan_check(test->check_input(plan));
      const std::string wrong = test->run_on(backend, plan);
      INFO(part[i].family << ", " << part[i].what << ": " << wrong);
      if (found.empty()) CHECK(wrong.empty());
      tally.valid += found.empty() ? 1 : 0;
      tally.wrong += wrong.empty() ? 0 : 1;
      tally.hidden +=
          wrong.empty() && found.size() == 1 && found[0].rule == plan::Rule::hidden_rows ? 1 : 0;
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("calibration: no plan that is wrong on the CPU backend is valid; hidden keys are right",
          "[aiter][P05][P09]") {
  const auto cpu = cpu::make_cpu_backend();
  int hidden = 0;
  for (const char* line :
       {"mla1:1q4s30_1q3s110;cu=4;gran=1", "mla1:1q2s30_1q2s110;cu=4;gran=1;heads=32",
        "mla1:1q2s30_1q1s110;cu=4;gran=1;heads=128;dtype=fp8/fp8",
        "mla1:1q4s100_1q4s260;cu=3;gran=1;page=16;block=16",
        "mla1:1q2s30_1q1s110;cu=4;gran=1;heads=128;arch=gfx950"}) {
    const Tally tally = calibrate(*cpu, line, 3);
    CHECK(tally.valid > 10);
    CHECK(tally.wrong > 10);
    hidden += tally.hidden;
  }
  CHECK(hidden > 0);
}

TEST_CASE("calibration: no plan that is wrong on the emulated HIP backend is valid",
          "[aiter][P05][emulated]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (!hip::test::has_code(arch, "decode")) continue;
    const auto backend = hip::make_hip_backend(hip::make_emulated_device(arch, {}), {});
    const std::string line = "mla1:1q4s30_1q3s50;cu=4;gran=1;arch=" + std::string(name(arch));
    const Tally tally = calibrate(*backend, line.c_str(), 12);
    CHECK(tally.valid > 3);
    CHECK(tally.wrong > 3);
  }
}
