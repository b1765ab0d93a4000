// Matrix instructions: values chosen so that every sum is exact, placed by the layouts of AMD's
// matrix instruction calculator.
#include <bit>
#include <cmath>

#include "device.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "tests/catch.hpp"

namespace {

using std::size_t;

enum class Format { f32, f16, bf16, i8, fp8, bf8, fp6, bf6, fp4 };

struct Case {
  std::string kernel;
  size_t m, k, blocks;
  Format a, b;
  std::string only = {};
};

const std::vector<Case> cases = {
    {"f32_32x32x1_2b", 32, 1, 2, Format::f32, Format::f32},
    {"f32_16x16x1_4b", 16, 1, 4, Format::f32, Format::f32},
    {"f32_4x4x1_16b", 4, 1, 16, Format::f32, Format::f32},
    {"f32_32x32x2", 32, 2, 1, Format::f32, Format::f32},
    {"f32_16x16x4", 16, 4, 1, Format::f32, Format::f32},
    {"f16_32x32x4_2b", 32, 4, 2, Format::f16, Format::f16},
    {"f16_16x16x4_4b", 16, 4, 4, Format::f16, Format::f16},
    {"f16_4x4x4_16b", 4, 4, 16, Format::f16, Format::f16},
    {"f16_32x32x8", 32, 8, 1, Format::f16, Format::f16},
    {"f16_16x16x16", 16, 16, 1, Format::f16, Format::f16},
    {"bf16_32x32x4_2b", 32, 4, 2, Format::bf16, Format::bf16},
    {"bf16_16x16x4_4b", 16, 4, 4, Format::bf16, Format::bf16},
    {"bf16_4x4x4_16b", 4, 4, 16, Format::bf16, Format::bf16},
    {"bf16_32x32x8", 32, 8, 1, Format::bf16, Format::bf16},
    {"bf16_16x16x16", 16, 16, 1, Format::bf16, Format::bf16},
    {"i8_32x32x4_2b", 32, 4, 2, Format::i8, Format::i8},
    {"i8_16x16x4_4b", 16, 4, 4, Format::i8, Format::i8},
    {"i8_4x4x4_16b", 4, 4, 16, Format::i8, Format::i8},
    {"i8_32x32x16", 32, 16, 1, Format::i8, Format::i8},
    {"i8_16x16x32", 16, 32, 1, Format::i8, Format::i8},
    {"fp8_fp8_16x16x32", 16, 32, 1, Format::fp8, Format::fp8},
    {"fp8_bf8_16x16x32", 16, 32, 1, Format::fp8, Format::bf8},
    {"bf8_fp8_16x16x32", 16, 32, 1, Format::bf8, Format::fp8},
    {"bf8_bf8_16x16x32", 16, 32, 1, Format::bf8, Format::bf8},
    {"fp8_fp8_32x32x16", 32, 16, 1, Format::fp8, Format::fp8},
    {"fp8_bf8_32x32x16", 32, 16, 1, Format::fp8, Format::bf8},
    {"bf8_fp8_32x32x16", 32, 16, 1, Format::bf8, Format::fp8},
    {"bf8_bf8_32x32x16", 32, 16, 1, Format::bf8, Format::bf8},
    {"xf32_16x16x8", 16, 8, 1, Format::f32, Format::f32, "gfx942"},
    {"xf32_32x32x4", 32, 4, 1, Format::f32, Format::f32, "gfx942"},
    {"f16_16x16x32", 16, 32, 1, Format::f16, Format::f16, "gfx950"},
    {"f16_32x32x16", 32, 16, 1, Format::f16, Format::f16, "gfx950"},
    {"bf16_16x16x32", 16, 32, 1, Format::bf16, Format::bf16, "gfx950"},
    {"bf16_32x32x16", 32, 16, 1, Format::bf16, Format::bf16, "gfx950"},
    {"i8_16x16x64", 16, 64, 1, Format::i8, Format::i8, "gfx950"},
    {"i8_32x32x32", 32, 32, 1, Format::i8, Format::i8, "gfx950"},
};

const std::vector<Case> scaled_cases = {
    {"fp8_16x16x128", 16, 128, 1, Format::fp8, Format::fp8},
    {"bf8_fp8_16x16x128", 16, 128, 1, Format::bf8, Format::fp8},
    {"fp8_32x32x64", 32, 64, 1, Format::fp8, Format::fp8},
    {"fp6_bf6_16x16x128", 16, 128, 1, Format::fp6, Format::bf6},
    {"fp4_fp8_32x32x64", 32, 64, 1, Format::fp4, Format::fp8},
};

// Bits of a small float: `exponent_bits`, `fraction_bits` and a bias; the value must be exact.
std::uint32_t small(double value, int fraction_bits, int bias, int size) {
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const double fraction = std::abs(std::ldexp(value, -exponent)) - 1;
  const auto low = static_cast<std::uint32_t>(std::ldexp(fraction, fraction_bits));
  const auto high = static_cast<std::uint32_t>(exponent + bias) << fraction_bits;
  return (value < 0 ? 1U << (size - 1) : 0) | high | low;
}

size_t size_of(Format format) {
  constexpr size_t sizes[] = {32, 16, 16, 8, 8, 8, 6, 6, 4};
  return sizes[static_cast<size_t>(format)];
}

std::uint32_t encode(double value, Format format, bool fnuz) {
  switch (format) {
    case Format::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case Format::f16:
      return small(value, 10, 15, 16);
    case Format::bf16:
      return small(value, 7, 127, 16);
    case Format::i8:
      return static_cast<std::uint8_t>(static_cast<int>(value));
    case Format::fp8:
      return small(value, 3, fnuz ? 8 : 7, 8);
    case Format::bf8:
      return small(value, 2, fnuz ? 16 : 15, 8);
    case Format::fp6:
      return small(value, 3, 1, 6);
    case Format::bf6:
      return small(value, 2, 3, 6);
    default:
      return small(value, 1, 1, 4);
  }
}

// [block][k][row] values and the registers that hold them, lane by lane.
struct Matrix {
  std::vector<double> values;
  std::vector<std::uint32_t> registers;
};

Matrix make(const Case& c, Format format, bool fnuz, size_t words, std::uint64_t seed) {
  gfx_test::Random random(seed);
  Matrix out;
  out.values.resize(c.blocks * c.k * c.m);
  out.registers.resize(64 * words);
  const size_t each = c.m * c.k * c.blocks / 64, bits = size_of(format);
  for (size_t block = 0; block < c.blocks; ++block) {
    for (size_t k = 0; k < c.k; ++k) {
      for (size_t row = 0; row < c.m; ++row) {
        constexpr double numbers[] = {0, 1, -1, 2, -2, 3, -3, 4, 1.5, -6};
        const double value = numbers[random.next() % (format == Format::i8 ? 8 : 10)];
        out.values[(block * c.k + k) * c.m + row] = value;
        size_t group = c.blocks == 1 ? k / each : block, at = c.blocks == 1 ? k % each : k;
        if (bits == 8 && each == 32) {  // two runs of 16, half of all k apart
          group = k % (c.k / 2) / 16;
          at = 16 * (k / (c.k / 2)) + k % 16;
        }
        const size_t lane = row + c.m * group, bit = bits * at;
        const std::uint64_t code = encode(value, format, fnuz);
        auto* const word = &out.registers[lane * words + bit / 32];
        word[0] |= static_cast<std::uint32_t>(code << bit % 32);
        if (bit % 32 + bits > 32) word[1] |= static_cast<std::uint32_t>(code << bit % 32 >> 32);
      }
    }
  }
  return out;
}

size_t lane_of(const Case& c, size_t block, size_t row, size_t column) {
  if (c.m == 32) return column + 32 * (row / 4 % 2);
  return c.m == 16 ? column + 16 * (row / 4) : column + 4 * block;
}
size_t register_of(const Case& c, size_t block, size_t row) {
  if (c.m == 32) return 16 * block + 4 * (row / 8) + row % 4;
  return c.m == 16 ? 4 * block + row % 4 : row;
}

double product(const Case& c, const Matrix& a, const Matrix& b, size_t block_a, size_t block,
               size_t row, size_t column) {
  double sum = 0;
  for (size_t k = 0; k < c.k; ++k) {
    sum += a.values[(block_a * c.k + k) * c.m + row] * b.values[(block * c.k + k) * c.m + column];
  }
  return sum;
}

struct Run {
  Matrix a, b;
  std::vector<std::uint32_t> c, d;
};

Run execute(gfx_test::Device& device, const Case& c, const std::string& kernel, bool fnuz,
            const gfx_test::Shape& shape, const std::vector<std::int32_t>* scales) {
  const bool wide = scales != nullptr;  // always eight registers there
  const auto words = [&](Format f) {
    return wide ? 8 : c.m * c.k * c.blocks / 64 * size_of(f) / 32;
  };
  const size_t results = c.m * c.m * c.blocks / 64;
  Run run{make(c, c.a, fnuz, words(c.a), 1), make(c, c.b, fnuz, words(c.b), 2), {}, {}};
  gfx_test::Random random(3);
  for (size_t n = 0; n < 64 * results; ++n) {
    const int value = static_cast<int>(random.next() % 200) - 100;
    run.c.push_back(c.a == Format::i8
                        ? static_cast<std::uint32_t>(value)
                        : std::bit_cast<std::uint32_t>(static_cast<float>(value) / 4));
  }
  const auto a = device.upload(run.a.registers, "a"), b = device.upload(run.b.registers, "b");
  const auto from = device.upload(run.c, "c");
  const auto to = device.buffer<std::uint32_t>(64 * results, "d");
  auto arguments = gfx_test::Arguments().add(a).add(b).add(from).add(to);
  if (wide) arguments.add(device.upload(*scales, "scales"));
  device.run(kernel, arguments, shape);
  run.d.assign(to.begin(), to.end());
  return run;
}

double number(const Case& c, std::uint32_t bits) {
  return c.a == Format::i8 ? static_cast<double>(static_cast<std::int32_t>(bits))
                           : static_cast<double>(std::bit_cast<float>(bits));
}

void judge(const Case& c, const Run& run, size_t broadcast_from, bool broadcast) {
  const size_t results = c.m * c.m * c.blocks / 64;
  for (size_t block = 0; block < c.blocks; ++block) {
    for (size_t row = 0; row < c.m; ++row) {
      for (size_t column = 0; column < c.m; ++column) {
        const size_t at = lane_of(c, block, row, column) * results + register_of(c, block, row);
        const size_t source = broadcast ? broadcast_from : block;
        const double want =
            number(c, run.c[at]) + product(c, run.a, run.b, source, block, row, column);
        INFO("block " << block << " row " << row << " column " << column);
        REQUIRE(number(c, run.d[at]) == want);
      }
    }
  }
}

}  // namespace

TEST_CASE("every dense matrix instruction multiplies its layout, in both modes") {
  const auto target = GENERATE(from_range(
      std::vector<gfx_test::Target>{{"gfx942", 0}, {"gfx942", 3}, {"gfx950", 0}, {"gfx950", 3}}));
  const auto path = GENERATE(mla::gfx::HostPath::portable, mla::gfx::best_host_path());
  gfx_test::Device device("matrix", target, path);
  const bool fnuz = target.arch == "gfx942";
  for (const Case& c : cases) {
    if (!c.only.empty() && c.only != target.arch) continue;
    INFO(target.text() << " " << c.kernel);
    judge(c, execute(device, c, c.kernel, fnuz, {}, nullptr), 0, false);
    if (!fnuz) continue;
    gfx_test::Shape exact;
    exact.options.mfma = mla::gfx::MfmaMode::exact;
    judge(c, execute(device, c, c.kernel, fnuz, exact, nullptr), 0, false);
  }
  const Case& four = cases[6];
  judge(four, execute(device, four, "f16_16x16x4_4b_broadcast", fnuz, {}, nullptr), 2, true);
}

TEST_CASE("scaled matrix instructions take 8, 6 and 4 bit floats with a scale for 32 k") {
  const auto target = GENERATE(from_range(gfx_test::targets_of("gfx950")));
  gfx_test::Device device("matrix", target);
  for (const Case& c : scaled_cases) {
    INFO(target.text() << " " << c.kernel);
    // Byte 1 of the scales of A and byte 2 of those of B; the others must not matter.
    std::vector<std::int32_t> scales(128);
    for (size_t l = 0; l < 64; ++l) {
      scales[l] = static_cast<std::int32_t>(0x7f00007f | (126 + l % 3) << 8);
      scales[64 + l] = static_cast<std::int32_t>(0x33000044 | (127 + l / 16) << 16);
    }
    Run run = execute(device, c, c.kernel, false, {}, &scales);
    for (size_t k = 0; k < c.k; ++k) {
      for (size_t row = 0; row < c.m; ++row) {
        const size_t lane = row + c.m * (k / 32);
        run.a.values[k * c.m + row] *= std::ldexp(1.0, static_cast<int>(lane % 3) - 1);
        run.b.values[k * c.m + row] *= std::ldexp(1.0, static_cast<int>(lane / 16));
      }
    }
    judge(c, run, 0, false);
  }
}

TEST_CASE("f64 matrix instructions multiply their layouts") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("matrix", target);
  gfx_test::Random random(8);
  std::vector<double> a(64), b(64), c(256);
  for (auto* const values : {&a, &b, &c}) {
    for (double& value : *values) value = static_cast<double>(random.next() % 64) / 8 - 4;
  }
  const auto da = device.upload(a, "a"), db = device.upload(b, "b"), dc = device.upload(c, "c");
  const auto d = device.buffer<double>(256, "d");
  const auto arguments = gfx_test::Arguments().add(da).add(db).add(dc).add(d);
  device.run("f64_16x16x4", arguments, {});
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 16; ++column) {
      const size_t at = (column + 16 * (row % 4)) * 4 + row / 4;
      double want = c[at];
      for (size_t k = 0; k < 4; ++k) want += a[row + 16 * k] * b[column + 16 * k];
      REQUIRE(d[at] == want);
    }
  }
  device.run("f64_4x4x4_4b", arguments, {});
  for (size_t n = 0; n < 64; ++n) {
    const size_t column = n % 4, block = n / 4 % 4, row = n / 16;
    double want = c[n];
    for (size_t k = 0; k < 4; ++k) {
      want += a[row + 4 * (block + 4 * k)] * b[column + 4 * (block + 4 * k)];
    }
    REQUIRE(d[n] == want);
  }
}

TEST_CASE("the exact mode rounds the accumulator down, and 8-bit floats lose a tiny one") {
  const gfx_test::Target target{"gfx942", 3};
  gfx_test::Device device("matrix", target);
  const auto once = [&](const std::string& kernel, std::vector<std::uint32_t> one, float c,
                        mla::gfx::MfmaMode mode) {
    const auto a = device.upload(one, "a");
    const auto from = device.upload(std::vector<float>(256, c), "c");
    const auto to = device.buffer<float>(256, "d");
    gfx_test::Shape shape;
    shape.options.mfma = mode;
    device.run(kernel, gfx_test::Arguments().add(a).add(a).add(from).add(to), shape);
    return to[0];
  };
  using mla::gfx::MfmaMode;
  // Element k = 0 of row 0 and of column 0 is one, everything else zero.
  std::vector<std::uint32_t> bf16(128, 0), fp8(128, 0);
  bf16[0] = 0x3f80;
  fp8[0] = 0x40;
  const float below = 1 - 0x1p-24F;
  REQUIRE(once("bf16_16x16x16", bf16, -0x1p-30F, MfmaMode::fast) == 1);
  REQUIRE(once("bf16_16x16x16", bf16, -0x1p-30F, MfmaMode::exact) == below);
  REQUIRE(once("bf16_16x16x16", bf16, 0x1p-30F, MfmaMode::exact) == 1);
  REQUIRE(once("fp8_fp8_16x16x32", fp8, -0x1p-30F, MfmaMode::exact) == 1);
  REQUIRE(once("fp8_fp8_16x16x32", fp8, -0x1p-25F, MfmaMode::exact) == below);
  gfx_test::Device other("matrix", {"gfx950", 3});
  const auto refused = mla::gfx::run(
      other.object(), {.kernel = "bf16_16x16x16", .options = {.mfma = MfmaMode::exact}},
      other.memory());
  REQUIRE(!refused.ok());
}
