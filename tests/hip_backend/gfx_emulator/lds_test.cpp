// LDS kernels: the results, and that the checks find nothing in them, under every schedule.
#include <numeric>

#include "device.hpp"
#include "tests/catch.hpp"

namespace {

std::vector<std::uint32_t> numbers(std::size_t count) {
  gfx_test::Random random(2);
  std::vector<std::uint32_t> out(count);
  for (auto& value : out) value = static_cast<std::uint32_t>(random.next() >> 20);
  return out;
}

std::vector<mla::gfx::Schedule> schedules() {
  using mla::gfx::Order;
  return {{.slice = 4, .order = Order::round_robin},
          {.slice = 1, .order = Order::random, .seed = 9},
          {.slice = 0, .order = Order::reverse},
          {.slice = 33, .order = Order::random, .seed = 4}};
}

}  // namespace

TEST_CASE("waves exchange values through LDS, whatever their order") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lds", target);
  const auto values = numbers(512);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(512, "out");
  for (const auto& schedule : schedules()) {
    const gfx_test::Shape shape = {.block = {256, 1, 1}, .options = {.schedule = schedule}};
    gfx_test::Shape two = shape;
    two.grid = {2, 1, 1};
    device.run("reverse", gfx_test::Arguments().add(in).add(out), two);
    for (std::size_t n = 0; n < 512; ++n) REQUIRE(out[n] == values[n / 256 * 256 + 255 - n % 256]);
    device.run("scan", gfx_test::Arguments().add(in).add(out), shape);
    std::uint32_t sum = 0;
    for (std::size_t n = 0; n < 256; ++n) REQUIRE(out[n] == (sum += values[n]));
  }
}

TEST_CASE("bytes, shorts and longs have their places in LDS") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lds", target);
  const auto values = numbers(64);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(192, "out");
  device.run("narrow", gfx_test::Arguments().add(in).add(out), {});
  for (std::size_t n = 0; n < 64; ++n) {
    const auto byte = static_cast<std::uint8_t>(values[63 - n]);
    const auto own = static_cast<std::uint32_t>(static_cast<std::int8_t>(values[n]));
    REQUIRE(out[3 * n] == byte + own);
    const auto other = static_cast<std::uint16_t>(values[63 - n]);
    const auto mine = static_cast<std::uint32_t>(static_cast<std::int16_t>(values[n]));
    REQUIRE(out[3 * n + 1] == other + mine);
    REQUIRE(out[3 * n + 2] ==
            static_cast<std::uint32_t>(std::uint64_t{values[63 - n]} << 20 >> 10));
  }
}

TEST_CASE("LDS may be allocated at the launch") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lds", target);
  const auto out = device.buffer<std::uint32_t>(64, "out");
  const std::uint32_t count = 5000;
  device.run("dynamic_size", gfx_test::Arguments().add(out).add(count), {.dynamic_lds = 4 * count});
  const std::uint64_t sum = std::accumulate(out.begin(), out.end(), std::uint64_t{0});
  std::uint64_t want[64] = {}, total = 0;
  for (std::uint64_t k = 0; k < count; ++k) want[k % 64] += (count - 1 - k) * (count - 1 - k);
  for (auto& value : want) total += value & 0xffffffff;
  REQUIRE(sum == total);
}

TEST_CASE("a generic pointer leads to LDS, to scratch, or to global memory") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lds", target);
  const auto out = device.buffer<std::uint32_t>(64, "out");
  device.run("generic", gfx_test::Arguments().add(out), {});
  for (std::uint32_t n = 0; n < 64; ++n) REQUIRE(out[n] == 1000 + 100 + n + n + 6);
}

TEST_CASE("atomics on LDS count every lane") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lds", target);
  const auto out = device.buffer<std::uint32_t>(6, "out");
  device.run("lds_atomics", gfx_test::Arguments().add(out), {.block = {256, 1, 1}});
  REQUIRE(out[0] == 255 * 128);
  REQUIRE(out[1] == 250);
  REQUIRE(out[2] == 0xffffffff);
  REQUIRE(out[3] == 255 * 128);
  REQUIRE(out[4] == 0x43000000);  // 128
  REQUIRE(out[5] == 1);
}

TEST_CASE("extra passes over LDS banks: none side by side, one for each further row of 32 banks") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  // Lanes that could ask for every bank once; 12 bytes go in groups of 8 lanes, as 16 do.
  const auto [width, bytes, lanes] = GENERATE(table<std::string, std::uint32_t, std::uint64_t>(
      {{"b32", 4, 32}, {"b64", 8, 16}, {"b96", 12, 8}, {"b128", 16, 8}}));
  INFO(target.text() << ' ' << width);
  gfx_test::Device device("lds", target);
  const auto passes = [&](std::uint32_t stride) {
    return device
        .report("reads_" + width, gfx_test::Arguments().add(stride),
                {.options = {.checks = {.bank_conflicts = true}}})
        .statistics.lds_bank_conflicts;
  };
  CHECK(passes(bytes) == 0);
  CHECK(passes(128) == 64 / lanes * (lanes - 1));
  CHECK(passes(0) == 0);
}
