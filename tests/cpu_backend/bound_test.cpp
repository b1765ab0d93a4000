// Claims about the bound: planted numeric defects leave it, and data made to reach it comes close.
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"

using namespace mla;
using namespace mla::cpu::test;

namespace {

void set_bf16(std::byte* row, std::int64_t d, float value) {
  const std::uint16_t bits = bf16_from_float(value, Bf16Rounding::nearest_even);
  std::memcpy(row + 2 * d, &bits, sizeof bits);
}

std::byte* key_row(Step& step, std::int64_t position) {
  KvCache& cache = step.tensors.cache;
  return cache.bytes.data() + (step.batch.slot(0, position) - cache.first_slot) * cache.row_bytes();
}

// Gives key `position` the score ln(weight) exactly enough, through rope dimensions that no value
// shares, and the value `value` in every dimension. The query is 1 in four rope dimensions.
void set_key(Step& step, std::int64_t position, double weight, float value) {
  std::byte* row = key_row(step, position);
  for (std::int64_t d = 0; d < kValueDim; ++d) set_bf16(row, d, value);
  double left = std::log(weight) / static_cast<double>(step.tensors.softmax_scale);
  for (std::int64_t d = kValueDim; d < kKeyDim; ++d) {
    const float part =
        d < kValueDim + 4
            ? bf16_to_float(bf16_from_float(static_cast<float>(left), Bf16Rounding::nearest_even))
            : 0.0F;
    set_bf16(row, d, part);
    left -= part;
  }
}

void set_queries(Step& step) {
  const std::int64_t rows = step.batch.rows().count() * step.spec.heads;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t d = 0; d < kKeyDim; ++d)
      set_bf16(step.tensors.q.data() + r * kKeyDim * 2, d,
               d >= kValueDim && d < kValueDim + 4 ? 1.0F : 0.0F);
}

const char* const kLine = "mla1:1q1s64;heads=16;arch=gfx942;cu=2";

}  // namespace

TEST_CASE("bound: every probability rounded the same way comes close to it and not over",
          "[cpu][reference]") {
  // 127 keys of a weight just below the middle of two bf16 numbers, one key of weight 1: all
  // probabilities are rounded down, the sum of weights is not.
  double closest = 0;
  for (const float value : {1.0F, 1.0078125F, 1.125F, -1.5F, 1.25F}) {
    const auto step = make_step("mla1:1q1s128;heads=16;arch=gfx950;cu=1");
    set_queries(*step);
    set_key(*step, 0, 1.0, value);
    for (std::int64_t j = 1; j < 128; ++j)
      set_key(*step, j, 0.5 * (1 + 0x1p-8) * (1 - 0x1p-18), value);
    const Closeness c = closeness(run(*step), step->reference());
    INFO("value " << value << ": " << c.out << " of the bound");
    CHECK(c.within());
    closest = std::max(closest, c.out);
  }
  WARN("closest to the bound: " << closest);
  CHECK(closest > 0.5);
}

TEST_CASE("bound: a mean midway between two bf16 numbers is off by a third of it or more",
          "[cpu][reference][P44]") {
  // Two keys of equal weight, whose values are neighbours: whatever rounds their mean is off by
  // 2^-8, half a place. The bound has 2^-8 for the probabilities, and 2^-8 for the cast or, where
  // it may truncate, 2^-7.
  for (const auto& [arch, least] : {std::pair("gfx950", 0.49), std::pair("gfx942", 0.33)}) {
    const auto step = make_step(std::string("mla1:1q1s2;heads=16;cu=1;arch=") + arch);
    set_queries(*step);
    set_key(*step, 0, 1.0, 1.0F);
    set_key(*step, 1, 1.0, 1.0078125F);
    const Closeness c = closeness(run(*step), step->reference());
    INFO(arch << ": " << c.out << " of the bound");
    CHECK(c.out > least);
    CHECK(c.within());
  }
}

TEST_CASE("bound: a wrong softmax scale leaves it", "[cpu][reference]") {
  for (const char* line : {kLine, "mla1:1q1s64;heads=16;arch=gfx942;cu=2;dtype=fp8/fp8"}) {
    const auto step = make_step(line);
    const cpu::ReferenceResult reference = step->reference();
    step->tensors.softmax_scale *= 1.02F;
    const Closeness c = closeness(run(*step), reference);
    INFO(line << ": out " << c.out << ", lse " << c.lse);
    CHECK(c.lse > 1);
  }
}

TEST_CASE("bound: an unapplied cache scale leaves it", "[cpu][reference][P16]") {
  const auto step = make_step("mla1:1q1s64;heads=16;arch=gfx942;cu=2;dtype=fp8/fp8;scale=1/1.5");
  const cpu::ReferenceResult reference = step->reference();
  step->tensors.kv_scale = 1.0F;
  step->tensors.softmax_scale *= 1.5F;  // the scores stay as they were
  const Closeness c = closeness(run(*step), reference);
  CHECK(c.lse <= 1);
  CHECK(c.out > 1);
}

TEST_CASE("bound: one missing key leaves it", "[cpu][reference][P05]") {
  const auto step = make_step(kLine);
  plan::WorkItem item = step->metadata.plan->work(0);
  REQUIRE(item.partial_row == -1);
  item.kv_end -= 1;
  item.kv_offset += 1;
  step->metadata.plan->set_work(0, item);
  const DecodeResult result = run(*step);
  CHECK(result.faults.empty());
  const Closeness c = closeness(result, step->reference());
  INFO("out " << c.out << ", lse " << c.lse);
  CHECK(c.out > 1);
  CHECK(c.lse > 1);
}

TEST_CASE("bound: a key counted twice leaves it", "[cpu][reference][P05]") {
  const auto step = make_step(kLine);
  step->buffers.kv_indices[9] = step->buffers.kv_indices[10];
  const Closeness c = closeness(run(*step), step->reference());
  INFO("out " << c.out << ", lse " << c.lse);
  CHECK(c.out > 1);
}

TEST_CASE("bound: a causal mask that is off by one leaves it", "[cpu][reference][P12]") {
  const auto step = make_step("mla1:1q2s64;heads=16;arch=gfx942;cu=1");
  plan::WorkItem item = step->metadata.plan->work(0);
  item.kv_offset += 1;
  step->metadata.plan->set_work(0, item);
  const Closeness c = closeness(run(*step), step->reference());
  CHECK(c.lse > 1);
}

TEST_CASE("bound: an LSE in base 2 leaves it", "[cpu][reference][P24]") {
  const auto step = make_step(kLine);
  DecodeResult result = run(*step);
  for (float& lse : result.lse) lse *= 1.44269504F;
  CHECK(closeness(result, step->reference()).lse > 1);
}
