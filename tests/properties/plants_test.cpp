// The judge catches what it is there to catch: every plant makes its property fail.
#include "properties/plants/plant.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/engine/prefill/kernels.hpp"
#include "core/numeric/bf16.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/judge/runner.hpp"
#include "properties/plants/origins.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"

using namespace mla;
using prop::Plant;
using prop::Property;
using prop::Verdict;

namespace {

const Backend& backend() {
  static const std::unique_ptr<Backend> cpu = cpu::make_cpu_backend();
  return *cpu;
}

// Keeps what the launch returned, before rows are cut from it.
struct Kept final : prop::Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata&, DecodeResult& r) const override {
    returned = r;
  }
  mutable DecodeResult returned;
};

prop::Outcome check(const Plant& plant, const prop::Interposer* interposer) {
  const Property* property = prop::find_property(plant.property);
  REQUIRE(property != nullptr);
  const auto c = parse_case(plant.case_line);
  REQUIRE(c.ok());
  prop::Subject subject(*c, backend(), interposer);
  return property->check(subject);
}

}  // namespace

TEST_CASE("plants: ids are unique and found, and every property has one", "[plants]") {
  std::set<std::string_view> ids;
  std::map<std::string_view, int> caught;
  for (const Plant& plant : prop::all_plants()) {
    CHECK(ids.insert(plant.id).second);
    CHECK(prop::find_plant(plant.id) == &plant);
    CHECK(plant.what.ends_with('.'));
    ++caught[plant.property];
  }
  for (const Property& p : prop::all_properties()) {
    INFO(p.id);
    CHECK(caught[p.id] > 0);
  }
  CHECK(prop::find_plant("BUG-000") == nullptr);
}

TEST_CASE("plants: every defect of the corpus is planted, or says why not", "[plants]") {
  std::set<const prop::Origin*> planted;
  for (const Plant& plant : prop::all_plants())
    if (const prop::Origin* origin = prop::find_origin(plant.id); origin != nullptr)
      planted.insert(origin);
    else
      CHECK(plant.id.starts_with("SEED-"));
  for (const prop::Origin& origin : prop::all_origins()) {
    INFO(origin.id);
    CHECK(planted.count(&origin) == (origin.why_not.empty() ? 1 : 0));
  }
  CHECK(prop::all_origins().size() == 139);
  CHECK(planted.size() >= 90);
}

TEST_CASE("plants: on its own case each makes its property fail, which holds without it",
          "[plants]") {
  for (const Plant& plant : prop::all_plants()) {
    INFO(plant.id << ": " << plant.what << "\n" << plant.case_line);
    const auto defect = plant.make();
    const prop::Outcome with = check(plant, defect.get());
    CHECK(with.verdict == Verdict::fail);
    CHECK_FALSE(with.message.empty());
    const prop::Outcome without = check(plant, nullptr);
    INFO(without.message);
    CHECK(without.verdict == Verdict::pass);
  }
}

TEST_CASE("plants: the imitated ones, and no others, change what a launch returned", "[plants]") {
  for (const Plant& plant : prop::all_plants()) {
    INFO(plant.id);
    auto c = *parse_case(plant.case_line);
    if (c.kind() != StepKind::decode) c = *parse_case("mla1:2q2s9");
    const Kept kept;
    prop::Subject subject(c, backend(), &kept);
    if (!subject.result()) continue;  // a shape without a kernel: the plant is in an earlier stage
    DecodeResult returned = kept.returned;
    returned.faults.push_back({"a fault", -1, -1});
    const auto row = static_cast<std::size_t>(c.heads * c.widths().value().count());
    returned.out[returned.out.size() - row] = 0x7FC1;  // a NaN in the last row
    DecodeResult edited = returned;
    plant.make()->on_result({.schedule_seed = 4, .threads = 2}, *subject.metadata(), edited);
    const bool same = edited.out == returned.out &&
                      edited.faults.size() == returned.faults.size() && edited.lse == returned.lse;
    CHECK(same != plant.imitated);
  }
}

// Two requests at most, unless the smallest case known has more.
TEST_CASE("plants: 5000 random cases find each, and it shrinks to two requests", "[plants]") {
  for (const Plant& plant : prop::all_plants()) {
    INFO(plant.id << ": " << plant.what);
    const auto defect = plant.make();
    prop::RunOptions options;
    options.properties = {prop::find_property(plant.property)};
    options.random_cases = 5000;
    options.seed = 3;
    options.widths = plant.widths;
    options.backend = &backend();
    options.interposer = defect.get();
    const prop::RunReport report = prop::run_properties(options);
    INFO(report.cases << " cases");
    REQUIRE(report.failures.size() == 1);
    INFO(format_case(report.failures[0].smallest));
    const std::size_t known = (*parse_case(plant.case_line)).requests.size();
    CHECK(report.failures[0].smallest.requests.size() <= std::max<std::size_t>(2, known));
  }
}

TEST_CASE("P37 says of a prefill: nan where a NaN reaches other rows, value where one is lost",
          "[plants][P37]") {
  struct LosesNan final : prop::Interposer {
    void on_kernels(prefill::Kernels& kernels) const override {
      kernels.flash = [run = kernels.flash](const prefill::KernelContext& context,
                                            const prefill::FlashLaunch& launch) {
        run(context, launch);
        for (std::int64_t row = 0; row < launch.q.rows; ++row)
          for (std::int64_t head = 0; head < launch.q.heads; ++head)
            std::replace_if(
                launch.out.at(row, head), launch.out.at(row, head) + prefill::kVDim,
                [](std::uint16_t bits) { return std::isnan(bf16_to_float(bits)); }, 0);
      };
    }
  };
  const Plant* const plant = prop::find_plant("SEED-prefill-zero-times-nan");
  REQUIRE(plant != nullptr);
  CHECK(text_of(check(*plant, plant->make().get()).damage) == "nan");
  const LosesNan loses;
  CHECK(text_of(check(*plant, &loses).damage) == "value");
  CHECK(check(*plant, nullptr).damage.none());
}
