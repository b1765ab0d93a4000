// The peak of a real run is near its estimate. Not for a sanitizer, whose own memory would count.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "properties/judge/judge.hpp"
#include "properties/step/estimate.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

// Peak resident bytes of a process that judges the case by these properties.
double measured_peak(const Case& c, const std::vector<const Property*>& properties) {
  const pid_t child = fork();
  if (child == 0) {
    judge(c, properties, cpu_backend(), nullptr);
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  REQUIRE(wait4(child, &status, 0, &usage) == child);
  REQUIRE(status == 0);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

TEST_CASE("estimate: the measured peak is within a factor of two", "[estimate]") {
  // A result and the reference; a changed copy of the tensors; another case with tensors of its
  // own.
  std::vector<const Property*> properties;
  for (const char* id : {"P05", "P13", "P18"}) properties.push_back(find_property(id));
  for (const char* line : {"mla1:1q1s128k;heads=1;dtype=fp8/fp8", "mla1:300q2s300;heads=1;block=16",
                           "mla1:800q1s5;heads=32"}) {
    const Case c = case_of(line);
    const double expected = estimate_of(c).bytes();
    const double peak = measured_peak(c, properties);
    INFO(line << ": estimated " << bytes_text(expected) << ", measured " << bytes_text(peak));
    CHECK(expected > 200.0 * (1 << 20));
    CHECK(peak < 2 * expected);
    CHECK(peak > expected / 2);
  }
}

TEST_CASE("estimate: a property that holds no other tensors needs what is estimated for one set",
          "[estimate]") {
  const Case c = case_of("mla1:1q1s512k;heads=1");
  for (const Property& p : all_properties()) {
    if (p.held != Held::own) continue;
    const double expected = estimate_of(c).bytes(Held::own);
    const double peak = measured_peak(c, {&p});
    INFO(p.id << ": estimated " << bytes_text(expected) << ", measured " << bytes_text(peak));
    CHECK(expected > 512.0 * (1 << 20));
    CHECK(peak < 1.25 * expected);
  }
}
