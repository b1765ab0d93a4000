// Claims about fenced memory.
#include "core/engine/guarded_buffer.hpp"

#include <algorithm>
#include <bit>

#include "tests/catch.hpp"

using mla::GuardedBuffer;

TEST_CASE("guarded buffer: starts as poison, and its canaries are intact", "[engine][P06]") {
  GuardedBuffer<float> buffer("rows", 10);
  CHECK(buffer.damaged().empty());
  CHECK(std::all_of(buffer.data(), buffer.data() + 10, [](const float& x) {
    return std::bit_cast<std::uint32_t>(x) == mla::kPoisonF32;
  }));
}

TEST_CASE("guarded buffer: a write one past either end is found", "[engine][P06]") {
  GuardedBuffer<float> after("the partial outputs", 10);
  after.data()[10] = 1.0F;
  CHECK(after.damaged() == "the canary after the partial outputs is damaged");
  GuardedBuffer<std::uint16_t> before("the output", 10);
  before.data()[-1] = mla::kPoisonBf16;
  CHECK(before.damaged() == "the canary before the output is damaged");
}

TEST_CASE("guarded buffer: gives away its elements without the fences", "[cpu]") {
  GuardedBuffer<std::uint16_t> buffer("the output", 3);
  for (std::uint16_t i = 0; i < 3; ++i) buffer.data()[i] = i;
  CHECK(buffer.copy() == std::vector<std::uint16_t>{0, 1, 2});
  CHECK(std::move(buffer).take() == std::vector<std::uint16_t>{0, 1, 2});
}

TEST_CASE("guarded buffer: may be empty", "[cpu]") {
  GuardedBuffer<float> buffer("nothing", 0);
  CHECK(buffer.damaged().empty());
  CHECK(std::move(buffer).take().empty());
}
