// What `mla-testbed time` says, over random steps, and one of them to the last digit.
#include "properties/app/step_time.hpp"

#include <rapidcheck.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "tests/catch.hpp"

namespace {

using mla::app::StepTime;
using mla::app::time_step;

StepTime timed(const std::string& line, bool others = false) {
  const auto c = mla::parse_case(line);
  REQUIRE(c.ok());
  auto time = time_step(*c, {.others = others, .faster = false});
  INFO((time.ok() ? std::string() : time.error().message));
  REQUIRE(time.ok());
  return *std::move(time);
}

// Of one shape or two, with and without a cap.
std::string random_line() {
  std::string line = "mla1:";
  const int groups = *rc::gen::inRange(1, 3);
  for (int g = 0; g < groups; ++g)
    line +=
        mla::say(g == 0 ? "" : "_", *rc::gen::inRange(1, 40), "q1s", *rc::gen::inRange(1, 9000));
  line +=
      mla::say(";heads=", *rc::gen::element(16, 32, 48, 64, 128),
               ";arch=gfx950;dtype=", *rc::gen::element("fp8/fp8", "bf16/bf16"), ";planner=v12");
  const int cap = *rc::gen::element(-1, 1, 4, 32);
  return line + (cap < 0 ? "" : mla::say(";split=", cap));
}

}  // namespace

TEST_CASE("No plan of AITER's planner beats the bound, and no time the roofline") {
  int predicted = 0;
  const bool held = rc::check([&predicted] {
    const std::string line = random_line();
    RC_LOG() << line;
    const auto c = mla::parse_case(line);
    RC_ASSERT(c.ok());
    const auto time = time_step(*c, {});
    if (!time || !time->step.predicted || !time->step.stage1_bound_us) return;
    ++predicted;
    const mla::timing::Prediction& p = *time->step.predicted;
    RC_ASSERT(p.stage1_us + p.imbalance_us >= *time->step.stage1_bound_us);
    RC_ASSERT(p.total_us() >= p.roofline_us);
    RC_ASSERT(p.imbalance_us >= 0);
    RC_ASSERT(*time->step.stage1_bound_us > 0);
  });
  CHECK(held);
  CHECK(predicted >= 90);
}

TEST_CASE("The terms of a prediction add up to its total, in JSON as well") {
  const auto json = time_json(timed("mla1:16q1s4k;heads=32;arch=gfx950;dtype=fp8/fp8", true));
  const auto& p = json["predicted"];
  CHECK(p["total_us"].get<double>() == p["launch_us"].get<double>() + p["stage1_us"].get<double>() +
                                           p["imbalance_us"].get<double>() +
                                           p["reduce_us"].get<double>());
  CHECK(json["predicted_by_splits"].size() > 10);
}

TEST_CASE("What changed between two steps is the difference of their terms") {
  const StepTime many = timed("mla1:1q1s16k;arch=gfx950;dtype=fp8/fp8");
  const StepTime few = timed("mla1:1q1s16k;arch=gfx950;dtype=fp8/fp8;split=38");
  const auto change = time_against_json(many, few)["predicted_change_us"];
  CHECK(change["total_us"].get<double>() ==
        many.step.predicted->total_us() - few.step.predicted->total_us());
  CHECK(change["reduce_us"].get<double>() > 10);
  CHECK(time_against_text(many, few).ends_with("changed     most: reduce\n"));
  CHECK(time_against_text(few, few).ends_with("changed     nothing, predicted\n"));
}

TEST_CASE("A step of another kind, and a sequence, have no time") {
  for (const auto& [line, why] :
       {std::pair("mla1:1q8s8;kind=fa", "time predicts decode steps, not a step of kind fa"),
        std::pair("mla1:1q1s8+1q1s9", "time predicts one step, not a sequence of 2")}) {
    const auto time = time_step(*mla::parse_case(line), {});
    REQUIRE(!time.ok());
    CHECK(time.error().message == why);
    CHECK(time.error().code == mla::ErrorCode::unsupported);
  }
}
