// Claims about prefill cases: the properties hold on every path, and each planted defect fails its
// property on its case and nothing fails without it.
#include "cpu_backend/cpu_backend.hpp"
#include "properties/plants/plant.hpp"
#include "properties/step/prefill/run.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

const char* const kIds[] = {"P05", "P14", "P15", "P20", "P22", "P23", "P24", "P25"};

Case parsed(const std::string& line) {
  auto c = parse_case(line);
  INFO(line << (c.ok() ? std::string() : c.error().message));
  REQUIRE(c.ok());
  return *c;
}

const Backend& backend() {
  static const std::unique_ptr<Backend> cpu = cpu::make_cpu_backend();
  return *cpu;
}

}  // namespace

TEST_CASE("prefill claims: all hold, whichever path a case takes", "[prefill]") {
  for (const char* line :
       {"1q1s1;heads=1;arch=gfx950;dtype=bf16/fp8;cu=16",
        "1q130s130_1q20s20;heads=2;arch=gfx950;dtype=bf16/fp8;cu=32",
        "2q257s257;heads=3;arch=gfx950;dtype=bf16/fp8;cu=48;sched=7",
        "1q60s60;heads=12;arch=gfx950;dtype=bf16/fp8;cu=64;data=spiky.1",
        "1q20s300_1q10s10_1q3s70;heads=2;arch=gfx950;dtype=bf16/fp8;workspace=64;block=16",
        "1q20s100_1q10s10;heads=2;arch=gfx950;dtype=bf16/fp8;workspace=64;planner=v12;cu=32",
        "1q30s30_1q1s90;heads=5;arch=gfx942;layout=prefix.2;block=8;data=large.1",
        "2q17s40;heads=2;causal=0;origin=65530"}) {
    Subject subject(parsed("mla1:" + std::string(line) + ";kind=prefill"), backend(), nullptr);
    std::size_t ran = 0;
    for (const char* id : kIds) {
      const Outcome outcome = find_property(id)->check(subject);
      INFO(id << " " << line << ": " << outcome.message);
      CHECK(outcome.verdict != Verdict::fail);
      if (outcome.verdict == Verdict::pass) ++ran;
    }
    CHECK(ran >= 5);
  }
}

TEST_CASE("prefill plants: each is caught by its property on its case, and by nothing unplanted",
          "[prefill][plants]") {
  std::size_t plants = 0;
  for (const Plant& plant : all_plants()) {
    const Case c = parsed(std::string(plant.case_line));
    if (c.kind() != StepKind::prefill) continue;
    ++plants;
    INFO(plant.id << " " << plant.case_line);
    const Property* property = find_property(plant.property);
    REQUIRE(property != nullptr);
    const auto defect = plant.make();
    Subject broken(c, backend(), defect.get());
    const Outcome caught = property->check(broken);
    INFO("with the defect: " << name(caught.verdict) << ": " << caught.message);
    CHECK(caught.verdict == Verdict::fail);
    Subject sound(c, backend(), nullptr);
    const Outcome held = property->check(sound);
    INFO("without: " << name(held.verdict) << ": " << held.message);
    CHECK(held.verdict == Verdict::pass);
  }
  CHECK(plants >= 17);
}
