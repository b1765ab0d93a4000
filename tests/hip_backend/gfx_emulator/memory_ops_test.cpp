// Buffers, loads to LDS, transposing reads and narrow accesses.
#include "device.hpp"

#include "tests/catch.hpp"

namespace {

std::vector<std::uint32_t> numbers(std::size_t count) {
  gfx_test::Random random(31);
  std::vector<std::uint32_t> out(count);
  for (auto& value : out) value = static_cast<std::uint32_t>(random.next());
  return out;
}

struct Narrow {
  std::uint8_t a;
  std::int8_t b;
  std::uint16_t c;
  std::int16_t d;
  std::uint16_t e;
};

}  // namespace

TEST_CASE("a buffer reads zero past its end and writes nothing there") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("memory", target);
  const auto values = numbers(256 + 64);
  const auto data = device.upload(values, "data");
  const auto out = device.buffer<std::uint32_t>(512, "out");
  const std::uint32_t size = 600;  // ends inside a lane's four dwords
  device.run("buffers", gfx_test::Arguments().add(data).add(size).add(out), {});
  const auto dword = [&](std::size_t at) { return at + 4 <= size ? values[at / 4] : 0; };
  for (std::size_t n = 0; n < 64; ++n) {
    INFO("lane " << n);
    for (std::size_t k = 0; k < 4; ++k) REQUIRE(out[8 * n + k] == dword(16 * n + 8 + 4 * k));
    REQUIRE(out[8 * n + 4] == dword(16 * n));
    REQUIRE(out[8 * n + 5] == (16 * n + 2 <= size ? values[4 * n] >> 8 & 0xff : 0));
    REQUIRE(out[8 * n + 6] == (16 * n + 4 <= size ? values[4 * n] >> 16 : 0));
    REQUIRE(data[4 * n + 1] == (16 * n + 8 <= size ? 7 * n : values[4 * n + 1]));
  }
}

TEST_CASE("a buffer descriptor that asks for swizzled or per-thread addresses is a fault") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("memory", target);
  const auto values = numbers(1024);
  const auto data = device.upload(values, "data");
  const auto out = device.buffer<std::uint32_t>(64, "out");
  const auto report = [&](std::uint32_t stride, std::uint32_t flags) {
    return device.report("buffer_described",
                         gfx_test::Arguments().add(data).add(stride).add(flags).add(out), {});
  };
  // Bit 14 of the stride's half: the cache swizzle, which moves no address.
  for (const std::uint32_t stride : {0U, 16U, 0x4000U}) {
    CHECK(report(stride, 0x27000).faults.empty());
    CHECK(out[5] == values[5]);
  }
  const auto swizzled = report(0x8010, 0x27000), by_thread = report(16, 0x827000);
  REQUIRE(swizzled.faults.size() == 1);
  CHECK(swizzled.faults[0].problem == mla::gfx::Problem::not_implemented);
  CHECK(swizzled.faults[0].text.find("SWIZZLE_ENABLE") != std::string::npos);
  REQUIRE(by_thread.faults.size() == 1);
  CHECK(by_thread.faults[0].text.find("ADD_TID_ENABLE") != std::string::npos);
}

TEST_CASE("loads to LDS put the lanes side by side") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("memory", target);
  const auto values = numbers(256);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(256, "out");
  device.run("direct_to_lds", gfx_test::Arguments().add(in).add(out), {});
  for (std::size_t n = 0; n < 64; ++n) REQUIRE(out[n] == values[(63 - n) * 7 % 64]);
  if (target.arch != "gfx950") return;
  device.run("wide_to_lds", gfx_test::Arguments().add(in).add(out), {});
  for (std::size_t n = 0; n < 256; ++n)
    REQUIRE(out[n] == values[(63 - n / 4) * 5 % 64 * 4 + n % 4]);
}

TEST_CASE("transposing reads exchange elements within sixteen lanes") {
  const auto target = GENERATE(from_range(gfx_test::targets_of("gfx950")));
  INFO(target.text());
  gfx_test::Device device("memory", target);
  const auto values = numbers(128);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<std::uint32_t>(256, "out");
  device.run("transposed", gfx_test::Arguments().add(in).add(out), {});
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  const auto* const shorts = reinterpret_cast<const std::uint16_t*>(values.data());
  for (std::size_t l = 0; l < 64; ++l) {
    const std::size_t block = l / 16 * 16, n = l % 16;
    const auto* const got = reinterpret_cast<const std::uint8_t*>(&out[4 * l]);
    std::uint16_t wide[4];
    std::memcpy(wide, got, 8);
    INFO("lane " << l);
    // Sixteen lanes hold a matrix of 16-bit elements, 4 rows of 16: a lane gets a column.
    for (std::size_t j = 0; j < 4; ++j) REQUIRE(wide[j] == shorts[block * 4 + j * 16 + n]);
    for (std::size_t j = 0; j < 8; ++j) REQUIRE(got[8 + j] == bytes[block * 8 + j * 16 + n]);
  }
}

TEST_CASE("bytes, shorts and halves of registers come and go alone") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("memory", target);
  const auto values = numbers(128);
  std::vector<Narrow> records(64);
  std::memcpy(records.data(), values.data(), 512);
  const auto in = device.upload(records, "in");
  const auto out = device.buffer<Narrow>(64, "out");
  const auto sums = device.buffer<std::int64_t>(64, "sums");
  device.run("narrow_global", gfx_test::Arguments().add(in).add(out).add(sums), {});
  for (std::size_t n = 0; n < 64; ++n) {
    const Narrow x = records[n];
    REQUIRE(out[n].a == static_cast<std::uint8_t>(x.a + 1));
    REQUIRE(out[n].b == static_cast<std::int8_t>(x.b - 1));
    REQUIRE(out[n].c == static_cast<std::uint16_t>(x.c * 3));
    REQUIRE(out[n].d == static_cast<std::int16_t>(x.d >> 1));
    REQUIRE(out[n].e == static_cast<std::uint16_t>(~x.e));
    REQUIRE(sums[n] == x.a + x.b + x.c + x.d + x.e);
  }
  std::vector<std::uint16_t> halves(128);
  for (std::size_t n = 0; n < 128; ++n) halves[n] = static_cast<std::uint16_t>(values[n] & 0x7bff);
  const auto from = device.upload(halves, "halves");
  const auto to = device.buffer<std::uint16_t>(128, "pairs");
  device.run("halves", gfx_test::Arguments().add(from).add(to), {});
  for (std::size_t n = 0; n < 64; ++n) {
    REQUIRE(to[2 * n] == halves[2 * n]);
    REQUIRE(to[2 * n + 1] == halves[127 - 2 * n]);
  }
}
