// Claims about the claims on sequences of steps: they hold, they run, and each planted defect of
// order or lifetime turns the right one red.
#include "core/engine/step_hooks.hpp"
#include "properties/step/decode/sequence.hpp"

#include "cpu_backend/cpu_backend.hpp"
#include "properties/plants/plant.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

const Backend& backend() {
  static const auto made = cpu::make_cpu_backend();
  return *made;
}

engine::CommonStep step_of(std::vector<std::int64_t> qo_lens) {
  engine::CommonStep step;
  step.qo_lens = std::move(qo_lens);
  for (const std::int64_t q : step.qo_lens) step.num_rows += q;
  return step;
}

Outcome judge(const char* id, const char* line, const Interposer* plant = nullptr) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  Subject subject(*c, backend(), plant);
  return find_property(id)->check(subject);
}

const char* const kLines[] = {
    "mla1:3q1s40;block=16",
    "mla1:2q4s19_1q4s300;heads=8;cu=5",
    "mla1:2q5s9;heads=24",
    "mla1:1q1s70_1q1s0_1q1s3;heads=128;arch=gfx950;cu=9",
    "mla1:4q2s33;dtype=fp8/fp8;heads=128;cu=16",
    "mla1:3q1s65;planner=none;heads=32",
    "mla1:4q1s100+4q1s101+2q1s50+3q1s400;block=16;page=16",
};

}  // namespace

TEST_CASE("sequence: replay, order, waiting and groups hold on every kind of step",
          "[engine][P19][P20][P21][P30]") {
  for (const char* line : kLines) {
    INFO(line);
    for (const char* id : {"P19", "P20", "P21", "P30"}) {
      const Outcome outcome = judge(id, line);
      INFO(outcome.message);
      CHECK(outcome.verdict == Verdict::pass);
    }
  }
}

TEST_CASE("sequence: a step on used buffers equals the dense reference", "[engine][P03]") {
  for (const char* line : kLines) {
    INFO(line);
    const auto run =
        run_sequence(steps_of(*parse_case(line)), backend(), {.graph = true}, StepHooks::none());
    REQUIRE(run.ok());
    for (const StepRun& step : run->steps) {
      INFO((step.result.ok() ? std::string() : step.result.error().message));
      REQUIRE(step.result.ok());
      Subject alone(step.spec, backend(), nullptr);
      const Outcome outcome = compare({.result = *step.result,
                                       .reference = *alone.reference(),
                                       .metadata = *alone.metadata(),
                                       .requests = alone.batch()->requests,
                                       .heads = step.spec.heads});
      INFO(outcome.message);
      CHECK(outcome.verdict == Verdict::pass);
    }
  }
}

TEST_CASE("sequence: a captured launch is replayed for steps of its shape, and for no other",
          "[engine][P19]") {
  const auto run = run_sequence(steps_of(*parse_case("mla1:2q1s40+2q2s41+2q1s42")), backend(),
                                {.graph = true}, StepHooks::none());
  REQUIRE(run.ok());
  REQUIRE(run->steps.size() == 3);
  CHECK(run->steps[0].replayed);
  CHECK_FALSE(run->steps[1].replayed);
  CHECK(run->steps[2].replayed);
}

TEST_CASE("sequence: every planted defect turns its claim red", "[engine][plant]") {
  struct Row {
    const char* plant;
    const char* property;
    const char* line;
    const char* words;
  };
  const Row rows[] = {
      {"BUG-081", "P20", kLines[0], "runs ahead"},
      {"SEED-shared-staging", "P20", kLines[0], "runs ahead"},
      {"BUG-114", "P21", kLines[0], "seq_lens[0].item()"},
      {"BUG-038", "P21", kLines[0], "boolean mask"},
      {"BUG-068-decode", "P19", kLines[0], "touches kv_indices, which was freed"},
      {"BUG-083", "P19", kLines[1], "differs from the eager step"},
      {"SEED-shared-groups", "P30", kLines[0], "target"},
  };
  for (const Row& row : rows) {
    const auto plant = find_plant(row.plant)->make();
    INFO(row.plant << " " << row.line);
    const Outcome outcome = judge(row.property, row.line, plant.get());
    INFO(outcome.message);
    CHECK(outcome.verdict == Verdict::fail);
    CHECK(outcome.message.find(row.words) != std::string::npos);
    CHECK(judge(row.property, row.line).verdict == Verdict::pass);
  }
}

TEST_CASE("step builder: a step beyond the provisioned maxima is refused with both numbers",
          "[engine][P06][BUG-079]") {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const engine::DecodeStepBuilder builder(*parse_case("mla1:q1s1"),
                                          {.max_requests = 2, .max_qo_len = 1, .max_pages = 8},
                                          StepHooks::none());
  const auto buffers = builder.allocate(heap);
  REQUIRE(buffers.ok());
  const auto three = builder.build(step_of({1, 1, 1}), *buffers, stream, false);
  REQUIRE_FALSE(three.ok());
  CHECK(three.error().message == "a step with 3 requests, the buffers are provisioned for 2");
  const auto long_rows = builder.build(step_of({4}), *buffers, stream, false);
  REQUIRE_FALSE(long_rows.ok());
  CHECK(stream.pending() == 0);
}
