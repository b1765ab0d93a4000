// Registered ranges: rights, overlaps, and what lies beside them.
#include "hip_backend/gfx_emulator/memory/memory.hpp"

#include <cstring>

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

TEST_CASE("memory of any size repeats its word, and what is written to one range is in no other") {
  Memory memory;
  for (const std::size_t size : {std::size_t{12}, std::size_t{4096}, std::size_t{20'000'004}}) {
    INFO(size);
    const auto fill = [](const std::span<std::byte> range) {
      std::uint32_t word = 0;
      for (std::size_t at = 0; at < range.size(); at += 4) {
        std::memcpy(&word, range.data() + at, 4);
        if (word != 0x7fa57fa5) return false;
      }
      return true;
    };
    const auto first = memory.allocate(size, "first", 0x7fa57fa5);
    REQUIRE(first.ok());
    REQUIRE(first->size() == size);
    REQUIRE(reinterpret_cast<std::uint64_t>(first->data()) % 256 == 0);
    REQUIRE(fill(*first));
    std::memset(first->data(), 1, size);
    const auto second = memory.allocate(size, "second", 0x7fa57fa5);
    REQUIRE(second.ok());
    REQUIRE(fill(*second));
    REQUIRE((*first)[size - 1] == std::byte{1});
    const auto other = memory.allocate(size, "other", 7);
    REQUIRE((*other)[size - 4] == std::byte{7});
    REQUIRE(!memory.release(first->data()));
    REQUIRE(fill(*second));
    const auto ranges = memory.ranges();
    const auto base = reinterpret_cast<std::uint64_t>(second->data());
    REQUIRE(find_range(*ranges, base - 1, 1) == nullptr);
    REQUIRE(find_range(*ranges, base + size, 1) == nullptr);
  }
}
