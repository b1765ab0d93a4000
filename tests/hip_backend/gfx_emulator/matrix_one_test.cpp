// Layouts of the matrix instructions, element by element: a single one in A and a single one in B
// give a single one in D, at the place that AMD's matrix instruction calculator names; for every
// element of A and every column.
#include <algorithm>

#include "device.hpp"
#include "tests/catch.hpp"

namespace {

using u32 = std::uint32_t;

// Bits of an element, and the number one as gfx942 and gfx950 write it.
struct Format {
  unsigned bits;
  u32 one[2];
};
constexpr Format f32 = {32, {0x3f800000, 0x3f800000}}, f16 = {16, {0x3c00, 0x3c00}};
constexpr Format bf16 = {16, {0x3f80, 0x3f80}}, i8 = {8, {1, 1}};
constexpr Format fp8 = {8, {0x40, 0x38}}, bf8 = {8, {0x40, 0x3c}};
constexpr Format fp6 = {6, {0, 0x08}}, bf6 = {6, {0, 0x0c}}, fp4 = {4, {0, 0x2}};

struct Case {
  const char* kernel;
  unsigned m, k, blocks;
  Format a, b;
  const char* only = "";
  bool scaled = false;  // eight registers a lane, whatever the format
};

const std::vector<Case> cases = {
    {"f32_32x32x1_2b", 32, 1, 2, f32, f32},
    {"f32_16x16x1_4b", 16, 1, 4, f32, f32},
    {"f32_4x4x1_16b", 4, 1, 16, f32, f32},
    {"f32_32x32x2", 32, 2, 1, f32, f32},
    {"f32_16x16x4", 16, 4, 1, f32, f32},
    {"f16_32x32x4_2b", 32, 4, 2, f16, f16},
    {"f16_16x16x4_4b", 16, 4, 4, f16, f16},
    {"f16_4x4x4_16b", 4, 4, 16, f16, f16},
    {"f16_32x32x8", 32, 8, 1, f16, f16},
    {"f16_16x16x16", 16, 16, 1, f16, f16},
    {"bf16_32x32x4_2b", 32, 4, 2, bf16, bf16},
    {"bf16_16x16x4_4b", 16, 4, 4, bf16, bf16},
    {"bf16_4x4x4_16b", 4, 4, 16, bf16, bf16},
    {"bf16_32x32x8", 32, 8, 1, bf16, bf16},
    {"bf16_16x16x16", 16, 16, 1, bf16, bf16},
    {"i8_32x32x4_2b", 32, 4, 2, i8, i8},
    {"i8_16x16x4_4b", 16, 4, 4, i8, i8},
    {"i8_4x4x4_16b", 4, 4, 16, i8, i8},
    {"i8_32x32x16", 32, 16, 1, i8, i8},
    {"i8_16x16x32", 16, 32, 1, i8, i8},
    {"fp8_fp8_16x16x32", 16, 32, 1, fp8, fp8},
    {"fp8_bf8_16x16x32", 16, 32, 1, fp8, bf8},
    {"bf8_fp8_16x16x32", 16, 32, 1, bf8, fp8},
    {"bf8_bf8_16x16x32", 16, 32, 1, bf8, bf8},
    {"fp8_fp8_32x32x16", 32, 16, 1, fp8, fp8},
    {"fp8_bf8_32x32x16", 32, 16, 1, fp8, bf8},
    {"bf8_fp8_32x32x16", 32, 16, 1, bf8, fp8},
    {"bf8_bf8_32x32x16", 32, 16, 1, bf8, bf8},
    {"xf32_16x16x8", 16, 8, 1, f32, f32, "gfx942"},
    {"xf32_32x32x4", 32, 4, 1, f32, f32, "gfx942"},
    {"f16_16x16x32", 16, 32, 1, f16, f16, "gfx950"},
    {"f16_32x32x16", 32, 16, 1, f16, f16, "gfx950"},
    {"bf16_16x16x32", 16, 32, 1, bf16, bf16, "gfx950"},
    {"bf16_32x32x16", 32, 16, 1, bf16, bf16, "gfx950"},
    {"i8_16x16x64", 16, 64, 1, i8, i8, "gfx950"},
    {"i8_32x32x32", 32, 32, 1, i8, i8, "gfx950"},
    {"fp8_16x16x128", 16, 128, 1, fp8, fp8, "gfx950", true},
    {"bf8_fp8_16x16x128", 16, 128, 1, bf8, fp8, "gfx950", true},
    {"fp8_32x32x64", 32, 64, 1, fp8, fp8, "gfx950", true},
    {"fp6_bf6_16x16x128", 16, 128, 1, fp6, bf6, "gfx950", true},
    {"fp4_fp8_32x32x64", 32, 64, 1, fp4, fp8, "gfx950", true},
};

unsigned words_of(const Case& c, const Format& f) {
  return c.scaled ? 8 : c.m * c.k * c.blocks * f.bits / 64 / 32;
}

// Row `row` of A (column of B), element k of a block: lanes take consecutive runs of k.
void put_one(const Case& c, const Format& f, bool fnuz, unsigned block, unsigned row, unsigned k,
             std::span<u32> registers) {
  const unsigned run = c.m * c.k * c.blocks / 64;
  unsigned group = c.blocks > 1 ? block : k / run, at = c.blocks > 1 ? k : k % run;
  if (run == 32 && f.bits == 8) {  // two runs of 16, half of all k apart
    group = k % (c.k / 2) / 16;
    at = 16 * (k / (c.k / 2)) + k % 16;
  }
  const unsigned bit = at * f.bits;
  u32* const word = &registers[std::size_t{row + c.m * group} * words_of(c, f) + bit / 32];
  const std::uint64_t one = std::uint64_t{f.one[fnuz ? 0 : 1]} << bit % 32;
  word[0] = static_cast<u32>(one);
  if (bit % 32 + f.bits > 32) word[1] = static_cast<u32>(one >> 32);
}

// Four rows after each other stand in four registers of a lane; then the lanes go on by m.
std::size_t place(const Case& c, unsigned block, unsigned row, unsigned column) {
  const unsigned results = c.m * c.m * c.blocks / 64, groups = 64 / c.m;
  const unsigned four = row / 4;
  const unsigned lane = c.m == 4 ? 4 * block + column : c.m * (four % groups) + column;
  const unsigned each = results / c.blocks;
  const unsigned reg = c.m == 4 ? row : each * block + 4 * (four / groups) + row % 4;
  return std::size_t{lane} * results + reg;
}

// All k and all columns of one row of A, a workgroup for each.
void row_of_a(gfx_test::Device& device, const Case& c, bool fnuz, unsigned block, unsigned row,
              std::span<u32> a, std::span<u32> b, std::span<u32> d, std::span<u32> zeros,
              std::span<std::int32_t> scales) {
  const unsigned runs = c.k * c.m;
  const std::size_t of_a = std::size_t{64} * words_of(c, c.a);
  const std::size_t of_b = std::size_t{64} * words_of(c, c.b);
  const std::size_t of_d = std::size_t{c.m} * c.m * c.blocks;
  std::fill(a.begin(), a.end(), 0U);
  std::fill(b.begin(), b.end(), 0U);
  for (unsigned n = 0; n < runs; ++n) {
    put_one(c, c.a, fnuz, block, row, n / c.m, a.subspan(n * of_a, of_a));
    put_one(c, c.b, fnuz, block, n % c.m, n / c.m, b.subspan(n * of_b, of_b));
  }
  auto arguments = gfx_test::Arguments().add(a).add(b).add(zeros).add(d);
  if (c.scaled) arguments.add(scales);
  REQUIRE(device.report(c.kernel, arguments, {.grid = {runs, 1, 1}}).clean());
  const u32 one = c.a.one[0] == 1 ? 1 : f32.one[0];
  for (unsigned n = 0; n < runs; ++n) {
    const auto part = d.subspan(n * of_d, of_d);
    part[place(c, block, row, n % c.m)] -= one;
    if (std::all_of(part.begin(), part.end(), [](u32 x) { return x == 0; })) continue;
    FAIL(c.kernel << " block " << block << " row " << row << " k " << n / c.m << " column "
                  << n % c.m);
  }
}

}  // namespace

TEST_CASE("one times one is one, at its place, for every element of every shape") {
  const auto target =
      GENERATE(from_range(std::vector<gfx_test::Target>{{"gfx942", 3}, {"gfx950", 3}}));
  const bool fnuz = target.arch == "gfx942";
  for (const Case& c : cases) {
    if (*c.only != 0 && c.only != target.arch) continue;
    gfx_test::Device device("matrix", target);
    const std::size_t runs = std::size_t{c.k} * c.m;
    const auto a = device.buffer<u32>(runs * 64 * words_of(c, c.a), "a");
    const auto b = device.buffer<u32>(runs * 64 * words_of(c, c.b), "b");
    const auto d = device.buffer<u32>(runs * c.m * c.m * c.blocks, "d");
    const auto zeros = device.upload(std::vector<u32>(std::size_t{c.m} * c.m * c.blocks, 0), "c");
    const auto scales = device.upload(std::vector<std::int32_t>(128, 0x7f7f7f7f), "scales");
    for (unsigned block = 0; block < c.blocks; ++block) {
      for (unsigned row = 0; row < c.m; ++row) {
        row_of_a(device, c, fnuz, block, row, a, b, d, zeros, scales);
      }
    }
  }
}
