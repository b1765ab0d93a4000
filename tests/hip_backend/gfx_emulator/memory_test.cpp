// Registered ranges: rights, overlaps, and what lies beside them.
#include "hip_backend/gfx_emulator/memory/memory.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

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

TEST_CASE("a copy into a range changes its bytes and none beside them, whatever the size") {
  Memory memory;
  constexpr std::size_t size = 20'000'004;
  const auto range = memory.allocate(size, "range", 0x11111111);
  const auto other = memory.allocate(size, "other", 0x11111111);
  REQUIRE((range.ok() && other.ok()));
  const auto base = reinterpret_cast<std::uint64_t>(range->data());
  for (const std::size_t from : {std::size_t{0}, std::size_t{100}, std::size_t{4097}}) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{9'000'001}, size - from}) {
      for (const int threads : {1, 3}) {
        INFO(from << " " << count << " " << threads);
        std::vector<std::byte> expected(range->begin(), range->end()), bytes(count);
        for (std::size_t k = 0; k < count; ++k)
          bytes[k] =
              static_cast<std::byte>(k * 7 + k / 4096 + from + static_cast<std::size_t>(threads));
        std::copy(bytes.begin(), bytes.end(), expected.begin() + static_cast<std::ptrdiff_t>(from));
        REQUIRE(!memory.copy_in(base + from, bytes, threads));
        REQUIRE(std::equal(range->begin(), range->end(), expected.begin()));
        for (std::size_t k = 1; k <= 4096; ++k) {  // the space on both sides
          REQUIRE(range->data()[-static_cast<std::ptrdiff_t>(k)] == std::byte{0x11});
          REQUIRE(range->data()[size + k - 1] == std::byte{0x11});
        }
      }
    }
  }
  REQUIRE(
      std::all_of(other->begin(), other->end(), [](std::byte b) { return b == std::byte{0x11}; }));
  const auto refused = memory.copy_in(base + 8, std::span(*other), 1);
  REQUIRE(refused);
  REQUIRE(refused->message.starts_with("no device memory of 20000004 bytes at "));
  REQUIRE(!memory.copy_in(base, {}, 1));
}
