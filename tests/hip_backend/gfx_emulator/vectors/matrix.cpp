// Matrix instructions: whole random matrices of numbers so small that every sum is exact, in the
// registers that the published layouts name.
#include "matrix.hpp"
#include "../device.hpp"
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned reg_a = 10, reg_b = 20, reg_c = 40, reg_d = 80, registers = 32;

// Rows of A (columns of B) in lanes: runs of k, or the blocks, follow each other from lane m on. Of
// 32 bytes a lane has two runs.
struct Spot {
  unsigned lane, element;
};
Spot source_spot(const MatrixShape& s, unsigned bits, unsigned block, unsigned row, unsigned k) {
  if (s.blocks > 1) return {row + s.m * block, k};
  const unsigned each = s.m * s.k / 64, half = s.k / 2;
  if (bits == 8 && each == 32) return {row + s.m * (k % half / 16), k / half * 16 + k % 16};
  return {row + s.m * (k / each), k % each};
}
// D: four rows of a column in four registers of a lane, the next four m lanes further.
Spot result_spot(const MatrixShape& s, unsigned block, unsigned row, unsigned column) {
  if (s.m == 4) return {4 * block + column, row};
  const unsigned groups = 64 / s.m, four = row / 4;
  return {column + s.m * (four % groups), s.m * s.m / 64 * block + 4 * (four / groups) + row % 4};
}

using Registers = std::array<Row, registers>;

void put_bits(Registers& to, const Spot& spot, unsigned size, u32 bits) {
  const unsigned at = spot.element * size;
  to[at / 32][spot.lane] |= bits << at % 32;
  if (at % 32 + size > 32) to[at / 32 + 1][spot.lane] |= bits >> (32 - at % 32);
}

// Values of a matrix, block by block, row by row.
struct Matrix {
  std::vector<double> values;
  Registers words{};
};

Matrix random_matrix(const MatrixShape& s, const ElementFormat& format, Random& random) {
  Matrix out;
  for (unsigned block = 0; block < s.blocks; ++block) {
    for (unsigned row = 0; row < s.m; ++row) {
      for (unsigned k = 0; k < s.k; ++k) {
        const u32 bits = format.choices[random.next() % format.choices.size()];
        out.values.push_back(format.value(bits));
        put_bits(out.words, source_spot(s, format.bits, block, row, k), format.bits, bits);
      }
    }
  }
  return out;
}

void put_matrix(State& state, unsigned first, const Registers& words, unsigned count) {
  for (unsigned k = 0; k < count; ++k) state.v[first + k] = words[k];
}

// What differs from the plain instruction.
struct Form {
  std::string note;
  bool accumulators = false, in_place = false;  // in place: C and D are the same registers
  int shift = 0;                                // C begins so many registers after D; 0: apart
  unsigned cbsz = 0, abid = 0, blgp = 0;
  unsigned constant = 0;  // C, instead of registers
  double constant_value = 0;
  u64 exec = ~u64{0};
};

unsigned block_of_a(const MatrixShape& s, const Form& f, unsigned block) {
  const unsigned group = 1U << f.cbsz;
  return std::min(block / group * group + f.abid % group, s.blocks - 1);
}
// BLGP: the lane of B that a lane takes.
unsigned lane_of_b(unsigned lane, unsigned blgp) {
  if (blgp == 1) return lane % 32;
  if (blgp == 2) return lane % 32 + 32;
  if (blgp == 3) return (lane + 16) % 64;
  return blgp == 0 ? lane : lane % 16 + 16 * (blgp - 4);
}

u32 result_bits(const MatrixShape& s, double value) {
  return s.integer ? static_cast<u32>(static_cast<i64>(value)) : bits_of(static_cast<float>(value));
}

Vector make(const Op& op, const MatrixShape& s, const Form& f, u64 seed) {
  Random random(seed);
  const Matrix a = random_matrix(s, s.a, random), b = random_matrix(s, s.b, random);
  Vector v{.operation = op.name, .note = f.note};
  const unsigned results = s.m * s.m * s.blocks / 64, file = f.accumulators ? agpr : vgpr;
  const unsigned at_c = f.in_place || f.shift != 0 ? reg_d + static_cast<unsigned>(f.shift) : reg_c;
  Registers c{};
  for (unsigned k = 0; k < results; ++k) {
    for (unsigned l = 0; l < lanes; ++l) {
      c[k][l] = result_bits(s, static_cast<double>(random.next() % 4096) - 2048);
    }
  }
  put_matrix(v.before, file + reg_a, a.words, s.words_a());
  put_matrix(v.before, vgpr + reg_b, b.words, s.words_b());
  if (f.constant == 0) put_matrix(v.before, file + at_c, c, results);
  v.before.exec = f.exec;
  v.words = encode::mfma(
      op.number, {.dst = file + reg_d,
                  .src = {file + reg_a, vgpr + reg_b, f.constant != 0 ? f.constant : file + at_c},
                  .cbsz = s.cbsz | f.cbsz,
                  .abid = f.abid,
                  .blgp = s.blgp | f.blgp});
  const auto number_b = [&](unsigned block, unsigned column, unsigned k) {
    if (f.blgp == 0) return b.values[(block * s.m + column) * s.k + k];
    const Spot spot = source_spot(s, s.b.bits, block, column, k);
    const unsigned at = spot.element * s.b.bits;
    const u32 word = b.words[at / 32][lane_of_b(spot.lane, f.blgp)];
    return s.b.value(s.b.bits == 32 ? word : word >> at % 32 & ((1U << s.b.bits) - 1));
  };
  std::vector<WideRow> d(results);
  for (unsigned block = 0; block < s.blocks; ++block) {
    for (unsigned row = 0; row < s.m; ++row) {
      for (unsigned column = 0; column < s.m; ++column) {
        const Spot spot = result_spot(s, block, row, column);
        const u32 from = c[spot.element][spot.lane];
        double sum = s.integer ? static_cast<double>(static_cast<i32>(from))
                               : static_cast<double>(float_of(from));
        if (f.constant != 0) sum = f.constant_value;
        const unsigned of_a = block_of_a(s, f, block);
        for (unsigned k = 0; k < s.k; ++k) {
          sum += a.values[(of_a * s.m + row) * s.k + k] * number_b(block, column, k);
        }
        d[spot.element][spot.lane] = result_bits(s, sum);
      }
    }
  }
  for (unsigned k = 0; k < results; ++k) {
    v.after.push_back({.index = file + reg_d + k,
                       .values = d[k],
                       .compare = s.integer ? Compare::bits : Compare::f32});
  }
  return v;
}

void add_shape(Vectors& out, Arch arch, const std::string& name, const MatrixShape& s) {
  const Op op = find_op(arch, name);
  if (op.name.empty()) return;
  out.push_back(make(op, s, {.note = "registers"}, 1));
  out.push_back(make(op, s, {.note = "accumulators", .accumulators = true}, 2));
  out.push_back(make(op, s, {.note = "in place", .in_place = true}, 2));
  if (s.m * s.m * s.blocks / 64 == 4) {
    out.push_back(make(op, s, {.note = "C begins in D", .shift = 2}, 2));
    out.push_back(make(op, s, {.note = "D begins in C", .shift = -2}, 2));
  }
  out.push_back(make(op, s, {.note = "EXEC does not count", .exec = 0x123456789abc}, 3));
  out.push_back(make(op, s, {.note = "zero", .constant = 128}, 4));
  if (s.integer) {
    out.push_back(make(op, s, {.note = "constant", .constant = 195, .constant_value = -3}, 5));
  } else {
    out.push_back(make(op, s, {.note = "constant", .constant = 245, .constant_value = -2}, 5));
  }
  for (unsigned cbsz = 1; 1U << cbsz <= s.blocks; ++cbsz) {
    for (unsigned abid = 0; abid < 1U << cbsz; abid += cbsz) {
      out.push_back(make(op, s, {.note = "broadcast", .cbsz = cbsz, .abid = abid}, 6 + abid));
    }
  }
  if (name.ends_with("f32") && !name.ends_with("xf32")) {
    for (unsigned blgp = 1; blgp < 8; ++blgp) {
      out.push_back(make(op, s, {.note = "lanes of B", .blgp = blgp}, 20 + blgp));
    }
  }
}

// f64: A and B have a k for each sixteen lanes; BLGP negates A, B and C.
void add_doubles(Vectors& out, Arch arch, bool small) {
  const Op op = find_op(arch, small ? "v_mfma_f64_4x4x4_4b_f64" : "v_mfma_f64_16x16x4_f64");
  const unsigned m = small ? 4 : 16, results = small ? 1 : 4;
  for (unsigned blgp = 0; blgp < 8; ++blgp) {
    Random random(blgp + 1);
    const auto numbers = [&] {
      WideRow row;
      for (u64& value : row) value = bits_of(static_cast<double>(random.next() % 2001) / 8 - 125);
      return row;
    };
    const WideRow a = numbers(), b = numbers();
    Vector v{.operation = op.name, .note = "negated " + std::to_string(blgp)};
    put_row(v.before, vgpr + reg_a, a, 8);
    put_row(v.before, vgpr + reg_b, b, 8);
    v.before.exec = blgp == 3 ? 7 : ~u64{0};
    v.words = encode::mfma(
        op.number,
        {.dst = vgpr + reg_d, .src = {vgpr + reg_a, vgpr + reg_b, vgpr + reg_c}, .blgp = blgp});
    for (unsigned r = 0; r < results; ++r) {
      const WideRow c = numbers();
      put_row(v.before, vgpr + reg_c + 2 * r, c, 8);
      Expected e{.index = vgpr + reg_d + 2 * r, .words = 2, .values = {}, .compare = Compare::f64};
      for (unsigned l = 0; l < lanes; ++l) {
        const unsigned row = 4 * r + l / 16, column = l % m, block = small ? l / 4 % 4 * 4 : 0;
        double sum = double_of(c[l]) * ((blgp & 4) != 0 ? -1 : 1);
        for (unsigned k = 0; k < 4; ++k) {
          const double sign = (blgp & 1) == (blgp >> 1 & 1) ? 1 : -1;
          sum +=
              sign * double_of(a[row % m + block + 16 * k]) * double_of(b[column + block + 16 * k]);
        }
        e.values[l] = bits_of(sum);
      }
      v.after.push_back(e);
    }
    out.push_back(std::move(v));
  }
}

// Scales: a power of two for 32 k from each lane, from a chosen byte of a register.
void add_scaled(Vectors& out, const Op& op, const MatrixShape& s) {
  for (unsigned byte = 0; byte < 4; ++byte) {
    Vector v = make(op, s, {.note = "scaled", .abid = 1, .constant = 128}, 40 + byte);
    Random random(byte);
    Row scales[2];
    for (Row& row : scales) {
      for (u32& word : row) {
        word = 0;
        for (unsigned k = 0; k < 4; ++k) word |= static_cast<u32>(126 + random.next() % 3) << 8 * k;
      }
    }
    v.before.v[vgpr + 1] = scales[0];
    v.before.v[vgpr + 2] = scales[1];
    const unsigned other = 3 - byte;
    v.words =
        join({encode::mfma_scale({.a = vgpr + 1, .b = vgpr + 2, .byte_a = byte, .byte_b = other}),
              v.words});
    Random again(40 + byte);
    const Matrix a = random_matrix(s, s.a, again), b = random_matrix(s, s.b, again);
    for (unsigned row = 0; row < s.m; ++row) {
      for (unsigned column = 0; column < s.m; ++column) {
        double sum = 0;
        for (unsigned k = 0; k < s.k; ++k) {
          const u32 x = scales[0][row + s.m * (k / 32)] >> 8 * byte & 0xff;
          const u32 y = scales[1][column + s.m * (k / 32)] >> 8 * other & 0xff;
          sum += std::ldexp(a.values[row * s.k + k] * b.values[column * s.k + k],
                            static_cast<int>(x + y) - 254);
        }
        const Spot spot = result_spot(s, 0, row, column);
        v.after[spot.element].values[spot.lane] = bits_of(static_cast<float>(sum));
      }
    }
    out.push_back(std::move(v));
  }
}

void add_small_floats(Vectors& out, Arch arch) {
  for (const bool large : {false, true}) {
    const std::string name = large ? "v_mfma_f32_32x32x64_f8f6f4" : "v_mfma_f32_16x16x128_f8f6f4";
    const Op op = find_op(arch, name);
    if (op.name.empty()) return;
    const auto formats = f8f6f4_formats();
    for (unsigned x = 0; x < formats.size(); ++x) {
      for (unsigned y = 0; y < formats.size(); ++y) {
        const MatrixShape s = {
            large ? 32U : 16U, large ? 64U : 128U, 1, formats[x], formats[y], false, x, y};
        out.push_back(make(op, s, {.note = "formats"}, 10 * x + y));
        if (x == (y + 1) % 5) add_scaled(out, op, s);
      }
    }
  }
}

}  // namespace

Vectors matrix_vectors(Arch arch) {
  Vectors out;
  for (const auto& [name, shape] : matrix_shapes(arch)) add_shape(out, arch, name, shape);
  add_doubles(out, arch, true);
  add_doubles(out, arch, false);
  add_small_floats(out, arch);
  return out;
}

}  // namespace gfx_test
