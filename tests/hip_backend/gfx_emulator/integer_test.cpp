// Integer arithmetic of the device against the same text compiled for the host.
#include "device.hpp"
#include "kernels/integer_ops.hpp"
#include "tests/catch.hpp"

namespace {

std::vector<u64> operands(std::size_t count) {
  static const u64 special[] = {
      0,       1,           2,  31, 32, 0x7fffffff, 0x80000000, 0xffffffff, 0x8000000000000000,
      ~u64{0}, 0x100000000, 255};
  gfx_test::Random random(7);
  std::vector<u64> values;
  for (const u64 a : special) {
    for (const u64 b : special) values.insert(values.end(), {a, b});
  }
  while (values.size() < 2 * count) values.push_back(random.next() >> (random.next() & 63));
  values.resize(2 * count);
  return values;
}

std::vector<u64> expected(u64 a, u64 b) {
  std::vector<u64> out(integer_results);
  integer_ops(a, b, static_cast<u32>(a >> 11 ^ b), out.data());
  return out;
}

}  // namespace

TEST_CASE("integer arithmetic of every lane is the host's") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  constexpr std::size_t count = 512;
  gfx_test::Device device("integer", target);
  const auto values = operands(count);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<u64>(count * integer_results, "out");
  device.run("integer", gfx_test::Arguments().add(in).add(out),
             {.grid = {2, 1, 1}, .block = {256, 1, 1}});
  for (std::size_t n = 0; n < count; ++n) {
    const auto want = expected(values[2 * n], values[2 * n + 1]);
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO("operation " << k << " of " << std::hex << values[2 * n] << ", " << values[2 * n + 1]);
      REQUIRE(out[n * integer_results + k] == want[k]);
    }
  }
}

TEST_CASE("scalar integer arithmetic is the host's") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("integer", target);
  const auto values = operands(200);
  const auto in = device.upload(values, "in");
  const auto out = device.buffer<u64>(integer_results, "out");
  for (u32 n = 0; n < 200; ++n) {
    device.run("integer_uniform", gfx_test::Arguments().add(in).add(out).add(n), {});
    const auto want = expected(values[2 * n], values[2 * n + 1]);
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO("operation " << k << " of " << std::hex << values[2 * n] << ", " << values[2 * n + 1]);
      REQUIRE(out[k] == want[k]);
    }
  }
}
