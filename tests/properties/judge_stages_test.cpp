// Claims about the stage comparison: it is silent on equal runs and names the first difference.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "cpu_backend/decode/stage_bounds.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/decode/stage_compare.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"

using namespace mla;
using prop::first_stage_difference;

namespace {

// A step of two split requests, executed once.
struct Executed {
  Case spec;
  Batch batch;
  DecodeBuffers buffers;
  DecodeMetadata metadata;
  DecodeTensors tensors;
  DecodeResult result;
  [[nodiscard]] DecodeLaunch launch() const { return {metadata, tensors}; }
};

std::unique_ptr<Executed> executed(const std::string& line = "mla1:2q2s300;cu=5") {
  auto e = std::make_unique<Executed>();
  e->spec = *parse_case(line);
  e->batch = *make_batch(e->spec);
  const auto shape = resolve_shape(e->spec, e->batch);
  e->buffers = make_decode_buffers(e->spec, e->batch, *shape);
  auto metadata = DecodeMetadataBuilder({}, StepHooks::none()).build(e->batch, *shape, e->buffers);
  REQUIRE(metadata.ok());
  e->metadata = std::move(*metadata);
  e->tensors = prop::make_tensors(e->spec, e->batch);
  e->tensors.q.resize(static_cast<std::size_t>(  // where rows are put in front, some at the end
      e->metadata.rows().count() * e->metadata.shape.heads.model.count() * kKeyDim *
      element_bytes(e->spec.dtype.q)));
  auto result = cpu::make_cpu_backend()->run(e->launch(), {.record_stages = true});
  REQUIRE(result.ok());
  e->result = std::move(*result);
  return e;
}

// Runs on the CPU and damages what comes out.
class Damaging final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "damaging"; }
  [[nodiscard]] std::string_view device(StepKind kind) const override { return cpu_->device(kind); }
  [[nodiscard]] Support supports(const ResolvedShape&) const override { return {true, {}}; }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    auto result = cpu_->run(launch, options);
    if (result) result->partial_lse.at(0) += 1;
    return result;
  }

 private:
  std::unique_ptr<Backend> cpu_ = cpu::make_cpu_backend();
};

// Runs on the CPU, or returns what it returned first, whatever it is asked. Counts the runs.
class Counted final : public Backend {
 public:
  explicit Counted(bool stuck) : stuck_(stuck) {}
  [[nodiscard]] std::string_view name() const override { return "counted"; }
  [[nodiscard]] std::string_view device(StepKind kind) const override { return cpu_->device(kind); }
  [[nodiscard]] Support supports(const ResolvedShape&) const override { return {true, {}}; }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    ++runs;
    if (!first || !stuck_) first = *cpu_->run(launch, options);
    return *first;
  }
  mutable int runs = 0;
  mutable std::optional<DecodeResult> first;

 private:
  bool stuck_;
  std::unique_ptr<Backend> cpu_ = cpu::make_cpu_backend();
};

}  // namespace

TEST_CASE("stages: equal runs have no difference", "[judge][stages]") {
  const auto e = executed();
  CHECK_FALSE(first_stage_difference(e->launch(), e->result, e->result).has_value());
}

TEST_CASE("stages: a run whose stages were not recorded differs", "[judge][stages]") {
  const auto e = executed();
  const auto unrecorded = cpu::make_cpu_backend()->run(e->launch(), {});
  REQUIRE(unrecorded.ok());
  for (const auto& found : {first_stage_difference(e->launch(), e->result, *unrecorded),
                            first_stage_difference(e->launch(), *unrecorded, *unrecorded)}) {
    REQUIRE(found.has_value());
    CHECK(found->what == "the stages were not recorded");
  }
}

TEST_CASE("stages: the first difference is named with its row and its work", "[judge][stages]") {
  const auto e = executed();
  const Footprint* writer = nullptr;
  for (const Footprint& f : e->result.footprint)
    if (f.partial_rows.begin < f.partial_rows.end) writer = &f;
  REQUIRE(writer != nullptr);
  const auto element = static_cast<std::size_t>(
      (writer->partial_rows.begin * e->result.kernel_heads + 3) * kValueDim + 7);

  DecodeResult other = e->result;
  other.partial_out[element] += 1;
  auto found = first_stage_difference(e->launch(), e->result, other);
  REQUIRE(found.has_value());
  CHECK(found->what.find("partial output row " + std::to_string(writer->partial_rows.begin) +
                         " head 3 element 7") == 0);
  CHECK(found->work == writer->work);

  other = e->result;  // never written on one side
  other.partial_out[element] = std::bit_cast<float>(kPoisonF32);
  found = first_stage_difference(e->launch(), e->result, other);
  REQUIRE(found.has_value());
  CHECK(found->what.find("(never written)") != std::string::npos);

  other = e->result;
  other.stage1_lse.pop_back();
  found = first_stage_difference(e->launch(), e->result, other);
  REQUIRE(found.has_value());
  CHECK(found->what.find("LSE after stage 1") == 0);
}

TEST_CASE("stages: what differs is what neither bound explains", "[judge][stages]") {
  const auto e = executed();
  std::size_t element = 0;
  double bound = 0;
  cpu::for_stage_bounds(e->launch(), [&](const cpu::RowBounds& bounds) {
    if (!bounds.partial) return;
    element = static_cast<std::size_t>(bounds.row * e->result.kernel_heads * kValueDim);
    bound = bounds.out[0];
  });
  REQUIRE(bound > 0);
  for (const auto& [factor, differs] : {std::pair(1.9, false), {2.1, true}}) {
    DecodeResult other = e->result;
    other.partial_out[element] += static_cast<float>(factor * bound);
    CHECK(first_stage_difference(e->launch(), e->result, other).has_value() == differs);
  }
}

TEST_CASE("stages: an infinity differs from a number, also where the bound is infinite",
          "[judge][stages]") {
  const auto e = executed("mla1:1q1s30;cu=4");
  const auto put = [](std::vector<std::byte>& bytes, std::size_t element, std::uint16_t bits) {
    std::memcpy(&bytes.at(2 * element), &bits, sizeof bits);
  };
  const auto slot = static_cast<std::size_t>(e->metadata.kv_indices[0]) -
                    static_cast<std::size_t>(e->tensors.cache.first_slot);
  put(e->tensors.cache.bytes, slot * kKeyDim + 540, 0x7F80);  // +inf, no part of the value
  for (std::size_t head = 0; head < 16; ++head)
    put(e->tensors.q, head * kKeyDim + 540, 0xBF80);  // -1
  const auto result = cpu::make_cpu_backend()->run(e->launch(), {.record_stages = true});
  REQUIRE(result.ok());
  REQUIRE_FALSE(first_stage_difference(e->launch(), *result, *result).has_value());
  bool infinite = false;
  cpu::for_stage_bounds(e->launch(), [&](const cpu::RowBounds& bounds) {
    infinite = infinite || std::isinf(bounds.out[0]);
  });
  REQUIRE(infinite);
  DecodeResult other = *result;
  other.stage1_out.at(0) = 0x7F80;
  CHECK(first_stage_difference(e->launch(), *result, other).has_value());
  other = *result;
  other.stage1_lse.at(0) = std::numeric_limits<float>::infinity();
  CHECK(first_stage_difference(e->launch(), *result, other).has_value());
}

TEST_CASE("stages: data paths agree within the bounds on every route", "[judge][stages]") {
  for (const char* line :
       {"mla1:2q2s300;cu=5", "mla1:3q1s700;heads=128;cu=7;dtype=fp8/fp8;scale=0.5/2",
        "mla1:2q1s900;planner=none;cu=40", "mla1:1q4s933;heads=64;cu=40;dtype=bf16/fp8",
        "mla1:1q3s900_1q1s90;arch=gfx950;cu=16;page=16;block=64",
        "mla1:2q1s300;cu=5;origin=4100100"}) {
    INFO(line);
    const auto e = executed(line);
    const auto portable = cpu::make_cpu_backend({.isa = cpu::Isa::portable});
    const auto other = portable->run(e->launch(), {.record_stages = true});
    REQUIRE(other.ok());
    REQUIRE_FALSE(e->result.partial_out.empty());
    const auto found = first_stage_difference(e->launch(), e->result, *other);
    if (found) FAIL(found->what);
  }
}

// The kernel of AITER takes tiles of 64 keys where the merge counts 16.
TEST_CASE("stages: of splits with other keys only what is unwritten or NaN differs",
          "[judge][stages]") {
  const auto changed = [](const Executed& e, float value) {
    DecodeResult other = e.result;
    other.partial_out.at(0) = value;
    const auto found = first_stage_difference(e.launch(), e.result, other);
    return found ? prop::text_of(found->damage) : std::string();
  };
  const float never = std::bit_cast<float>(kPoisonF32);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto other_keys = executed("mla1:2q2s600;dtype=fp8/fp8;planner=none;cu=80");
  REQUIRE(other_keys->metadata.shape.kv_splits > 1);
  CHECK(changed(*other_keys, 1e6F).empty());
  CHECK(changed(*other_keys, never) == "unwritten");
  CHECK(changed(*other_keys, nan) == "nan");
  const auto same_keys = executed("mla1:2q1s600;dtype=fp8/fp8;planner=none;cu=80");
  REQUIRE(same_keys->metadata.shape.kv_splits > 1);
  CHECK(changed(*same_keys, 1e6F) == "value");
  CHECK(changed(*same_keys, never) == "unwritten");
  CHECK(changed(*same_keys, nan) == "nan");
}

TEST_CASE("stages: what differs in a row that sees no key is damage of its own",
          "[judge][stages]") {
  // Of the first request the rows that were put in front see nothing.
  const auto check = [](const std::string& line, auto buffer, std::int64_t splits, auto keyless) {
    INFO(line);
    const auto e = executed(line);
    const std::size_t heads = static_cast<std::size_t>(e->result.kernel_heads);
    const std::size_t rows = ((*e).result.*buffer).size() / heads;
    REQUIRE(rows > 0);
    for (std::size_t row = 0; row < rows; ++row) {
      INFO(row);
      DecodeResult other = e->result;
      (other.*buffer)[row * heads] = 1e6F;
      const auto found = first_stage_difference(e->launch(), e->result, other);
      REQUIRE(found.has_value());
      const bool without = keyless(static_cast<std::int64_t>(row) / splits);
      CHECK(prop::text_of(found->damage) == (without ? "keyless" : "value"));
    }
  };
  const auto final_lse = &DecodeResult::stage1_lse;
  const std::string step = "mla1:1q2s3_1q2s300;qpad=4;";
  check(step + "cu=2", final_lse, 1, [](std::int64_t row) { return row < 1; });
  check(step + "cu=2;heads=32", final_lse, 1,
        [](std::int64_t row) { return row == 0 || row == 4; });
  check(step + "cu=4;planner=none;splits=4", &DecodeResult::partial_lse, 4,
        [](std::int64_t row) { return row < 1; });
  check("mla1:1q2s300_1q2s2;qpad=4;cu=2;gran=1", &DecodeResult::partial_lse, 1,
        [](std::int64_t) { return false; });
}

TEST_CASE("stages: a backend that differs from its peer has a fault", "[judge][stages]") {
  const auto e = executed();
  const auto sound = prop::compared_with(cpu::make_cpu_backend(), cpu::make_cpu_backend());
  CHECK((*sound->run(e->launch(), {})).faults.empty());
  const auto damaged = prop::compared_with(std::make_unique<Damaging>(), cpu::make_cpu_backend());
  CHECK(damaged->name() == "damaging");
  const auto result = damaged->run(e->launch(), {.record_stages = true});
  REQUIRE(result.ok());
  REQUIRE(result->faults.size() == 1);
  CHECK(result->faults[0].what.find("partial LSE row 0 head 0") == 0);
  CHECK(result->faults[0].what.find("on cpu and damaging") != std::string::npos);
}

TEST_CASE("stages: a launch is compared again when an input, its shape or a result is another",
          "[judge][stages]") {
  auto own_counted = std::make_unique<Counted>(true);
  auto peer_counted = std::make_unique<Counted>(false);
  const Counted& own = *own_counted;
  const Counted& peer = *peer_counted;
  const auto compared = prop::compared_with(std::move(own_counted), std::move(peer_counted));
  std::vector<std::string> both;  // what the first run of a launch says that was launched
  const auto runs_of_peer = [&](const Executed& e) {
    const int before = peer.runs;
    const auto result = compared->run(e.launch(), {});
    REQUIRE(result.ok());
    if (both.empty()) both = result->launches.lines();
    return peer.runs - before;
  };
  CHECK(runs_of_peer(*executed()) == 1);
  CHECK(runs_of_peer(*executed()) == 0);
  const auto launched = [&] { return (*compared->run(executed()->launch(), {})).launches.lines(); };
  CHECK(launched() == both);
  const auto flip = [](std::byte& byte) { byte ^= std::byte{1}; };
  const std::function<void(Executed&)> changes[] = {
      [&](Executed& e) { flip(e.tensors.q.at(0)); },
      [&](Executed& e) { flip(e.tensors.cache.bytes.at(0)); },
      [](Executed& e) { e.tensors.softmax_scale *= 1.5F; },
      [](Executed& e) { std::swap(e.buffers.kv_indices.at(0), e.buffers.kv_indices.at(1)); },
      [](Executed& e) { e.metadata.shape.notes.emplace_back("another"); },
      [](Executed& e) { e.metadata.plan->work_info.set(0, 1); },
      [&](Executed&) { own.first->partial_out.at(0) *= 2; },
      [&](Executed&) { own.first->partial_lse.at(0) += 1; },
      [&](Executed&) { own.first->stage1_out.at(0) ^= 1U; },
      [&](Executed&) { own.first->stage1_lse.at(0) += 1; },
  };
  const DecodeResult first = *own.first;
  for (const auto& change : changes) {
    INFO(&change - changes);
    const auto e = executed();
    change(*e);
    CHECK(runs_of_peer(*e) == 1);
    own.first = first;
  }
  CHECK(runs_of_peer(*executed()) == 0);
}

TEST_CASE("stages: a launch that differed is compared again", "[judge][stages]") {
  auto peer_counted = std::make_unique<Counted>(false);
  const Counted& peer = *peer_counted;
  const auto compared = prop::compared_with(std::make_unique<Damaging>(), std::move(peer_counted));
  const auto e = executed();
  for (const int runs : {1, 2}) {
    const auto result = compared->run(e->launch(), {});
    REQUIRE(result.ok());
    CHECK(result->faults.size() == 1);
    CHECK(peer.runs == runs);
  }
}
