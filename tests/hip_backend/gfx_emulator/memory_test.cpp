// Registered ranges: rights, overlaps, and what lies beside them.
#include "hip_backend/gfx_emulator/memory.hpp"

#include "tests/catch.hpp"

using mla::gfx::find_range;
using mla::gfx::Memory;
using mla::gfx::Rights;

TEST_CASE("a range is found from its first byte to its last, and not beside them") {
  Memory memory;
  auto block = memory.allocate(1000, "block");
  REQUIRE(block.ok());
  const auto base = reinterpret_cast<std::uint64_t>(block->data());
  REQUIRE(base % 256 == 0);
  const auto ranges = memory.ranges();
  REQUIRE(find_range(*ranges, base, 1000) != nullptr);
  REQUIRE(find_range(*ranges, base + 999, 1) != nullptr);
  REQUIRE(find_range(*ranges, base + 999, 2) == nullptr);
  REQUIRE(find_range(*ranges, base - 1, 1) == nullptr);
  REQUIRE(find_range(*ranges, base, 1001) == nullptr);
  REQUIRE(find_range(*ranges, base + 4, ~std::uint64_t{0}) == nullptr);
  REQUIRE((*block)[500] == std::byte{0xa5});
}

TEST_CASE("overlapping, empty and unknown ranges are refused with their names") {
  Memory memory;
  std::byte bytes[64];
  REQUIRE(!memory.add(std::span(bytes).first(32), "first", Rights::read_write));
  const auto overlap = memory.add(std::span(bytes).subspan(31), "second", Rights::read);
  REQUIRE(overlap);
  REQUIRE(overlap->message == "the device range 'second' overlaps the range 'first'");
  REQUIRE(memory.add(std::span(bytes).subspan(40, 0), "empty", Rights::read));
  REQUIRE(!memory.add(std::span(bytes).subspan(32), "second", Rights::read));
  REQUIRE(memory.release(bytes + 1));
  REQUIRE(!memory.release(bytes));
  REQUIRE(!memory.add(std::span(bytes).first(32), "again", Rights::read));
  REQUIRE(memory.ranges()->size() == 2);
}
