// Another project that judges its own case, and states a claim of its own about all cases: one
// library of each, addressed as in the repository. The emulator and the HIP backend are there in
// every build; what they lack they say.
#include <rapidcheck.h>

#include <cstdio>

#include "core/case/case.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "properties/generate/arbitrary_case.hpp"
#include "properties/judge/runner.hpp"

int main() {
  const auto c = mla::parse_case("mla1:2q2s40;heads=8;block=16");
  if (!c) return std::fprintf(stderr, "%s\n", c.error().message.c_str()), 2;
  const auto backend = mla::cpu::make_cpu_backend();
  const auto object = mla::gfx::load_code_object({}, {});
  std::printf("%s\n", object ? "loaded" : object.error().message.c_str());
  const auto device = mla::hip::make_emulated_device(mla::Arch::gfx950, {});
  std::printf("%s\n", device->properties().label.c_str());
  mla::prop::RunOptions run;
  run.properties = {mla::prop::find_property("P05")};
  run.cases = {*c};
  run.backend = backend.get();
  const mla::prop::RunReport report = mla::prop::run_properties(run);
  std::printf("%lld cases judged\n", static_cast<long long>(report.cases));
  const bool canonical = rc::check("format and parse give a case back", [](const mla::Case& drawn) {
    const auto again = mla::parse_case(mla::format_case(drawn));
    RC_ASSERT(again.ok());
    RC_ASSERT(mla::format_case(*again) == mla::format_case(drawn));
  });
  return canonical ? static_cast<int>(report.exit_code()) : 1;
}
