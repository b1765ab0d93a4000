// SDWA and DPP on a few operations: which bytes and which lanes the sources come from, and where
// the result goes.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

constexpr unsigned first = vgpr + 10, second = vgpr + 14, destination = vgpr + 22;
constexpr unsigned sdwa_marker = 249, dpp_marker = 250;

u32 selected(u32 value, unsigned sel, bool sext) {
  if (sel == 6) return value;
  const unsigned bits = sel < 4 ? 8 : 16, shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
  const u32 field = value >> shift & ((1U << bits) - 1);
  return sext ? static_cast<u32>(sign_extended(field, bits)) : field;
}

// dst_unused: 0 fills with zeros, 1 with the sign above (zeros below), 2 keeps.
u32 placed(u32 value, u32 old, const encode::Sdwa& f) {
  if (f.dst_sel == 6) return value;
  const unsigned bits = f.dst_sel < 4 ? 8 : 16;
  const unsigned shift = f.dst_sel < 4 ? 8 * f.dst_sel : 16 * (f.dst_sel - 4);
  const u32 mask = ((1U << bits) - 1) << shift, field = value << shift & mask;
  if (f.dst_unused == 2) return (old & ~mask) | field;
  if (f.dst_unused == 0 || (value >> (bits - 1) & 1) == 0) return field;
  const u64 above = u64{0xffffffff} << (bits + shift);
  return field | static_cast<u32>(above);
}

Vector start(const Op& op, const std::string& note) {
  return random_registers(op, note, {{first, "first"}, {second, "second"}, {destination, "old"}});
}

template <class F>
void add_sdwa(Vectors& out, const Op& op, encode::Sdwa fields, F f) {
  Vector v = start(op, "SDWA");
  fields.src0 = fields.src0 < 128 ? fields.src0 : first;
  if (fields.src0 < 128) v.before.s[fields.src0] = 0x8a9bc7d6;
  v.before.exec = 0xfffffffffffffff7;
  v.words = encode::vop2(op.number, destination, sdwa_marker, second);
  v.words.push_back(encode::sdwa(fields));
  Expected result{.index = destination, .values = {}};
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 from = fields.src0 < 128 ? 0x8a9bc7d6 : v.before.v[first][l];
    const u32 a = selected(from, fields.src0_sel, fields.sext0);
    const u32 b = selected(v.before.v[second][l], fields.src1_sel, fields.sext1);
    const u32 old = v.before.v[destination][l];
    result.values[l] = l == 3 ? old : placed(f(a, b), old, fields);
  }
  v.after = {result};
  out.push_back(std::move(v));
}

void add_sdwa_forms(Vectors& out, Arch arch) {
  const Op add = find_op(arch, "v_add_u32"), bits = find_op(arch, "v_and_b32");
  const auto sum = [](u32 a, u32 b) { return a + b; };
  for (unsigned sel = 0; sel < 7; ++sel) {
    for (const bool sext : {false, true}) {
      add_sdwa(out, add,
               {.src0_sel = sel, .src1_sel = (sel + 3) % 7, .sext0 = sext, .sext1 = !sext}, sum);
    }
    for (unsigned unused = 0; unused < 3; ++unused) {
      add_sdwa(out, bits, {.dst_sel = sel, .dst_unused = unused, .src1_sel = 5},
               [](u32 a, u32 b) { return a & b; });
    }
  }
  add_sdwa(out, add, {.src0 = 20, .src0_sel = 1, .sext0 = true}, sum);
  // The modifiers of a float come after the selection.
  const Op mul = find_op(arch, "v_mul_f32");
  for (const auto& [neg, abs] : {std::pair{true, false}, {false, true}, {true, true}}) {
    Vector v = start(mul, "SDWA neg and abs");
    for (unsigned l = 0; l < lanes; ++l) {
      v.before.v[first][l] = bits_of(static_cast<float>(l) - 30.5F);
      v.before.v[second][l] = bits_of(1.5F - static_cast<float>(l % 5));
    }
    v.words = encode::vop2(mul.number, destination, sdwa_marker, second);
    v.words.push_back(encode::sdwa({.src0 = first, .neg0 = neg, .abs0 = abs, .neg1 = abs}));
    Expected result{.index = destination, .values = {}, .compare = Compare::f32};
    for (unsigned l = 0; l < lanes; ++l) {
      float a = static_cast<float>(l) - 30.5F;
      const float b = 1.5F - static_cast<float>(l % 5);
      if (abs) a = std::abs(a);
      if (neg) a = -a;
      result.values[l] = bits_of(a * (abs ? -b : b));
    }
    v.after = {result};
    out.push_back(std::move(v));
  }
  // 8-bit floats have a fraction of a register each.
  const Op pair = find_op(arch, "v_cvt_pk_f32_fp8");
  const Byte format = arch == Arch::gfx942 ? fp8_fnuz : fp8_ocp;
  for (const unsigned sel : {4U, 5U}) {
    Vector v = start(pair, "SDWA word");
    v.words = encode::vop1(pair.number, destination, sdwa_marker);
    v.words.push_back(encode::sdwa({.src0 = first, .src0_sel = sel, .src1_sel = 0}));
    Expected result{.index = destination, .words = 2, .values = {}, .compare = Compare::two_f32};
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 half = selected(v.before.v[first][l], sel, false);
      const auto low = static_cast<float>(byte_value(half & 0xff, format));
      const auto high = static_cast<float>(byte_value(half >> 8, format));
      result.values[l] = bits_of(low) | u64{bits_of(high)} << 32;
    }
    v.after = {result};
    out.push_back(std::move(v));
  }
  // Comparisons name their pair.
  const Op less = find_op(arch, "v_cmp_lt_i32");
  Vector v = start(less, "SDWA pair");
  v.words = encode::vopc(less.number, sdwa_marker, second);
  v.words.push_back(
      encode::sdwa_compare({.src0 = first, .src0_sel = 4, .src1_sel = 1, .sext0 = true}, 30));
  u64 mask = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    const i32 a = sign_extended(v.before.v[first][l], 16);
    const auto b = static_cast<i32>(v.before.v[second][l] >> 8 & 0xff);
    if (a < b) mask |= u64{1} << l;
  }
  v.after = {expect_scalar(30, static_cast<u32>(mask)),
             expect_scalar(31, static_cast<u32>(mask >> 32))};
  out.push_back(std::move(v));
}

// The lane a control reads, or -1.
int source_lane(unsigned ctrl, int lane) {
  const int in_row = lane % 16, row = lane - in_row;
  const auto n = static_cast<int>(ctrl & 15);
  if (ctrl < 0x100) return lane - lane % 4 + static_cast<int>(ctrl >> 2 * (lane % 4) & 3);
  if (ctrl <= 0x10f) return in_row + n > 15 ? -1 : lane + n;  // row_shl
  if (ctrl <= 0x11f) return in_row - n < 0 ? -1 : lane - n;   // row_shr
  if (ctrl <= 0x12f) return row + (in_row + 16 - n) % 16;     // row_ror
  if (ctrl == 0x130) return lane == 63 ? -1 : lane + 1;       // wave_shl
  if (ctrl == 0x134) return (lane + 1) % 64;                  // wave_rol
  if (ctrl == 0x138) return lane - 1;                         // wave_shr
  if (ctrl == 0x13c) return (lane + 63) % 64;                 // wave_ror
  if (ctrl == 0x140) return row + 15 - in_row;                // row_mirror
  if (ctrl == 0x141) return lane - lane % 8 + 7 - lane % 8;   // row_half_mirror
  if (ctrl == 0x142) return row == 0 ? -1 : row - 1;          // row_bcast:15
  if (ctrl == 0x143) return lane < 32 ? -1 : 31;              // row_bcast:31
  return row + n;                                             // row_newbcast
}

// `to` plus the products of the two halves, as signed numbers.
u32 dot_of_halves(u32 a, u32 b, u32 to) {
  for (const unsigned shift : {0U, 16U}) {
    to += static_cast<u32>(static_cast<std::int16_t>(a >> shift) *
                           static_cast<std::int16_t>(b >> shift));
  }
  return to;
}

void add_dpp(Vectors& out, const Op& op, encode::Dpp fields, u64 exec) {
  Vector v = start(op, "DPP");
  v.before.exec = exec;
  fields.src0 = first;
  const bool moves = op.name == "v_mov_b32";
  v.words = moves ? encode::vop1(op.number, destination, dpp_marker)
                  : encode::vop2(op.number, destination, dpp_marker, second);
  v.words.push_back(encode::dpp(fields));
  Expected result{.index = destination, .values = {}};
  for (unsigned l = 0; l < lanes; ++l) {
    const int from = source_lane(fields.ctrl, static_cast<int>(l));
    // Assumption DPP_INACTIVE.
    const bool read = from >= 0 && (exec >> from & 1) != 0;
    const u32 value = read ? v.before.v[first][static_cast<unsigned>(from)] : 0;
    const bool in_masks =
        (fields.row_mask >> l / 16 & 1) != 0 && (fields.bank_mask >> l % 16 / 4 & 1) != 0;
    const bool written = (exec >> l & 1) != 0 && in_masks && (from >= 0 || fields.bound_ctrl);
    const u32 other = v.before.v[second][l], old = v.before.v[destination][l];
    const u32 computed = moves                          ? value
                         : op.name == "v_dot2c_i32_i16" ? dot_of_halves(value, other, old)
                                                        : value + other;
    result.values[l] = written ? computed : old;
  }
  v.after = {result};
  out.push_back(std::move(v));
}

void add_dpp_forms(Vectors& out, Arch arch) {
  const Op move = find_op(arch, "v_mov_b32"), add = find_op(arch, "v_add_u32");
  const Op dot = find_op(arch, "v_dot2c_i32_i16");
  std::vector<unsigned> controls = {0x00,  0x1b,  0xe4,  0xb1,  0xff,  0x130, 0x134,
                                    0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
  for (unsigned n = 1; n < 16; ++n) {
    for (const unsigned kind : {0x100U, 0x110U, 0x120U}) controls.push_back(kind + n);
  }
  for (unsigned n = 0; n < 16; ++n) controls.push_back(0x150 + n);
  for (const unsigned ctrl : controls) {
    for (const u64 exec : {~u64{0}, u64{0xfedcba9876543210}}) {
      add_dpp(out, move, {.ctrl = ctrl}, exec);
      add_dpp(out, move, {.ctrl = ctrl, .bound_ctrl = true}, exec);
      add_dpp(out, add, {.ctrl = ctrl, .row_mask = 5, .bank_mask = 11}, exec);
      add_dpp(out, dot, {.ctrl = ctrl, .row_mask = 5, .bank_mask = 11}, exec);
    }
  }
}

}  // namespace

Vectors extended_vectors(Arch arch) {
  Vectors out;
  add_sdwa_forms(out, arch);
  add_dpp_forms(out, arch);
  return out;
}

}  // namespace gfx_test
