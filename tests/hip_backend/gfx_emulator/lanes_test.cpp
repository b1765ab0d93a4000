// DPP, permutations and votes, against the definitions of the manual.
#include <bit>

#include "device.hpp"
#include "tests/catch.hpp"

namespace {

using Source = int (*)(int);

std::vector<std::uint32_t> numbers(std::size_t count) {
  gfx_test::Random random(21);
  std::vector<std::uint32_t> out(count);
  for (auto& value : out) value = static_cast<std::uint32_t>(random.next() >> 40);
  return out;
}

// Source lane of each DPP control of the kernel; -1: there is none, the old value stays.
const Source sources[] = {
    [](int l) { return l ^ 3; },
    [](int l) { return l % 16 + 1 < 16 ? l + 1 : -1; },
    [](int l) { return l % 16 >= 3 ? l - 3 : -1; },
    [](int l) { return l / 16 * 16 + (l + 11) % 16; },
    [](int l) { return l / 16 * 16 + 15 - l % 16; },
    [](int l) { return l / 8 * 8 + 7 - l % 8; },
    [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; },
    [](int l) { return l < 32 ? -1 : 31; },
    [](int l) { return l == 63 ? -1 : l + 1; },
    [](int l) { return l - 1; },
    [](int l) { return l / 16 * 16 + 7; },
};

}  // namespace

TEST_CASE("DPP moves values between lanes as its controls say") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lanes", target);
  const auto values = numbers(64);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(12 * 64, "out");
  device.run("dpp", gfx_test::Arguments().add(in).add(out), {});
  for (std::size_t k = 0; k < std::size(sources); ++k) {
    for (int l = 0; l < 64; ++l) {
      const int from = sources[k](l);
      INFO("control " << k << " lane " << l);
      REQUIRE(out[k * 64 + static_cast<std::size_t>(l)] ==
              (from < 0 ? 1000 : values[static_cast<std::size_t>(from)]));
    }
  }
  // Row mask 0x5, bank mask 0x3, bound_ctrl: zero instead of a lane that is not there.
  for (std::size_t l = 0; l < 64; ++l) {
    const bool written = l / 16 % 2 == 0 && l / 4 % 4 < 2;
    const std::uint32_t moved = l % 16 == 15 ? 0 : values[l + 1];
    INFO("masked lane " << l);
    REQUIRE(out[11 * 64 + l] == (written ? moved : 1000));
  }
}

TEST_CASE("permutations, votes and lane counts see all lanes") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lanes", target);
  const auto values = numbers(64);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(10 * 64, "out");
  device.run("shuffles", gfx_test::Arguments().add(in).add(out), {});
  std::uint64_t votes = 0;
  std::uint32_t sum = 0;
  for (std::size_t l = 0; l < 64; ++l) {
    votes |= std::uint64_t{values[l] % 3 == 0} << l;
    sum += values[l];
  }
  for (std::size_t l = 0; l < 64; ++l) {
    INFO("lane " << l);
    REQUIRE(out[l] == values[l * 5 % 64]);
    REQUIRE(out[64 + l * 5 % 64] == values[l]);
    REQUIRE(out[128 + l] == values[l ^ 1]);
    REQUIRE(out[192 + l] == values[l ^ 1]);
    REQUIRE(out[256 + l] == values[17]);
    REQUIRE(out[320 + l] == values[0]);
    REQUIRE(out[384 + l] == static_cast<std::uint32_t>(votes));
    REQUIRE(out[448 + l] == static_cast<std::uint32_t>(votes >> 32));
    REQUIRE(out[512 + l] ==
            static_cast<std::uint32_t>(std::popcount(votes & ((std::uint64_t{1} << l) - 1))));
    REQUIRE(out[576 + l] == sum);
  }
}

TEST_CASE("lanes that are switched off are not counted and not read") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("lanes", target);
  auto values = numbers(64);
  values[0] = 4;
  values[1] = 8;
  values[2] = 15;
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(64, "out");
  device.run("partial", gfx_test::Arguments().add(in).add(out), {});
  std::uint32_t odd = 0;
  for (const std::uint32_t value : values) odd += value % 2;
  for (std::size_t l = 0; l < 64; ++l)
    REQUIRE(out[l] == (values[l] % 2 == 1 ? 15 + 1000 * odd : 7));
}

TEST_CASE("halves of lanes change places on gfx950") {
  const auto target = GENERATE(from_range(gfx_test::targets_of("gfx950")));
  INFO(target.text());
  gfx_test::Device device("lanes", target);
  const auto values = numbers(128);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(256, "out");
  device.run("swaps", gfx_test::Arguments().add(in).add(out), {});
  for (std::size_t half : {16U, 32U}) {
    const std::size_t base = half == 16 ? 0 : 128;
    for (std::size_t l = 0; l < 64; ++l) {
      const bool upper = l / half % 2 == 1;
      INFO("half " << half << " lane " << l);
      REQUIRE(out[base + l] == (upper ? values[64 + l - half] : values[l]));
      REQUIRE(out[base + 64 + l] == (upper ? values[64 + l] : values[l + half]));
    }
  }
}
