#include "hip_backend/gfx_emulator/exec/operand.hpp"

#include <algorithm>
#include <bit>

#include "hip_backend/gfx_emulator/exec/fidelity.hpp"
#include "hip_backend/gfx_emulator/isa/dpp.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

bool is_wide(Kind kind) {
  return kind == Kind::b64 || kind == Kind::i64 || kind == Kind::f64;
}
bool is_narrow(Kind kind) {
  return kind == Kind::b16 || kind == Kind::f16;
}

void spread(Wave& w, const Inst& i, std::uint16_t operand, Kind kind, u32* out) {
  if (is_wide(kind)) {
    u64 value = read_scalar64(w, i, operand);
    if (operand == code::literal && kind == Kind::f64) value = u64{i.literal} << 32;
    if (operand == code::literal && kind == Kind::i64) value = signed_literal(i);
    std::fill_n(out, lanes, static_cast<u32>(value));
    std::fill_n(out + lanes, lanes, static_cast<u32>(value >> 32));
    return;
  }
  const bool constant = operand >= 128 && operand <= 248;
  const bool half = kind == Kind::f16 || kind == Kind::packed;
  u32 value = constant && half ? inline_half(operand) : read_scalar(w, i, operand);
  // A packed operand sees an integer constant with its sign, and a float in the low half only.
  if (kind == Kind::packed && constant && operand < 240) value = read_scalar(w, i, operand);
  std::fill_n(out, lanes, value);
}

void select_bytes(u32* values, unsigned sel, bool sext) {
  const unsigned bits = sel < 4 ? 8 : 16;
  const unsigned shift = sel < 4 ? 8 * sel : 16 * (sel - 4);
  if (sel >= 6) return;
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 up = values[l] >> shift << (32 - bits);
    values[l] =
        sext ? static_cast<u32>(static_cast<std::int32_t>(up) >> (32 - bits)) : up >> (32 - bits);
  }
}

void permute(const Wave& w, const Inst& i, u32* values) {
  u32 from[lanes];
  std::copy_n(values, lanes, from);
  const u64 exec = w.exec();
  if (is_row_broadcast(i.dpp_ctrl) && exec == ~u64{0}) {
    for (unsigned row = 0; row < lanes; row += 16) {
      std::fill_n(values + row, 16, from[row + (i.dpp_ctrl & 15)]);
    }
    return;
  }
  if (exec != ~u64{0}) meet(w, Met::dpp_inactive);
  const auto& sources = dpp_sources(i.dpp_ctrl);
  for (unsigned l = 0; l < lanes; ++l) {
    const int source = sources[l];
    const bool live = source >= 0 && (exec >> source & 1) != 0;
    values[l] = live ? from[source] : 0;
  }
}

// The word of a source in which its sign stands.
u32 sign_bit(Kind kind) {
  return is_narrow(kind) ? 0x8000U : 0x80000000U;
}

constexpr u32 f32_results_bit = 5, f64_results_bit = 7, dx10_clamp_bit = 8, ieee_bit = 9;

bool nan_becomes_zero(const Wave& w) {
  return (w.mode >> dx10_clamp_bit & 1) != 0;
}

template <class T>
T clamp_to_one(const Wave& w, T value) {
  if (value != value && !nan_becomes_zero(w)) return value;
  return value > 0 ? std::min(value, T{1}) : T{0};
}

// The factor of omod, which MODE ignores where results keep denormals, and in IEEE mode.
double omod_factor(const Wave& w, const Inst& i, u32 denormals_bit) {
  if ((w.mode >> denormals_bit & 1) != 0 || (w.mode >> ieee_bit & 1) != 0) return 1;
  static constexpr double factors[] = {1, 2, 4, 0.5};
  return factors[i.omod];
}

void modify_f32(const Wave& w, const Inst& i, u32* values) {
  const auto factor = static_cast<float>(omod_factor(w, i, f32_results_bit));
  for (unsigned l = 0; l < lanes; ++l) {
    auto value = std::bit_cast<float>(values[l]);
    if (factor != 1) value *= factor;
    if (i.clamp) value = clamp_to_one(w, value);
    values[l] = std::bit_cast<u32>(value);
  }
}

void modify_f64(const Wave& w, const Inst& i, u32* values) {
  const double factor = omod_factor(w, i, f64_results_bit);
  for (unsigned l = 0; l < lanes; ++l) {
    auto value = std::bit_cast<double>(values[l] | u64{values[l + lanes]} << 32);
    if (factor != 1) value *= factor;
    if (i.clamp) value = clamp_to_one(w, value);
    const auto bits = std::bit_cast<u64>(value);
    values[l] = static_cast<u32>(bits);
    values[l + lanes] = static_cast<u32>(bits >> 32);
  }
}

// A half between 0 and 1 has bits between 0 and 0x3c00.
void clamp_f16(const Wave& w, u32* values) {
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 half = values[l] & 0xffff;
    const bool nan = (half & 0x7fff) > 0x7c00;
    if (nan && !nan_becomes_zero(w)) continue;
    values[l] = nan || half >= 0x8000 ? 0 : std::min(half, 0x3c00U);
  }
}

// Moves the result into the bytes SDWA asks for.
void place_bytes(const Inst& i, const u32* old, u32* values) {
  const unsigned bits = i.dst_sel < 4 ? 8 : 16;
  const unsigned shift = i.dst_sel < 4 ? 8U * i.dst_sel : 16U * (i.dst_sel - 4U);
  const u32 field = ((1U << bits) - 1) << shift;
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 placed = values[l] << shift & field;
    const bool negative = (values[l] >> (bits - 1) & 1) != 0;
    u32 rest = 0;
    if (i.dst_unused == 2) rest = old[l] & ~field;
    if (i.dst_unused == 1 && negative) rest = ~field & ~((1U << shift) - 1);
    values[l] = placed | rest;
  }
}

}  // namespace

void fetch(Wave& w, const Inst& i, unsigned k, Kind kind, u32* out) {
  const std::uint16_t operand = i.src[k];
  const unsigned words = is_wide(kind) ? 2 : 1;
  if (operand >= code::vgpr) {
    std::copy_n(w.reg(operand), words * lanes, out);
  } else {
    spread(w, i, operand, kind, out);
  }
  if (k == 0 && i.dpp) {
    for (unsigned word = 0; word < words; ++word) permute(w, i, out + std::size_t{word} * lanes);
  }
  if (i.sdwa && k < 2) select_bytes(out, i.sel[k], k == 0 ? i.sext0 : i.sext1);
  if (kind == Kind::packed) return;  // op_sel and neg mean something else there
  if (is_narrow(kind) && (i.op_sel >> k & 1) != 0) {
    for (unsigned l = 0; l < lanes; ++l) out[l] >>= 16;
  }
  const u32 sign = sign_bit(kind);
  u32* const word = out + std::size_t{words - 1} * lanes;
  if ((i.abs >> k & 1) != 0) {
    for (unsigned l = 0; l < lanes; ++l) word[l] &= ~sign;
  }
  if ((i.neg >> k & 1) != 0) {
    for (unsigned l = 0; l < lanes; ++l) word[l] ^= sign;
  }
}

float clamped(const Wave& w, float value) {
  return clamp_to_one(w, value);
}
double clamped(const Wave& w, double value) {
  return clamp_to_one(w, value);
}

void finish(Wave& w, const Inst& i, Kind kind, bool keep_high, u32* values) {
  u32* const to = w.reg(i.dst);
  if (i.clamp || i.omod != 0) {
    if (kind == Kind::f32) modify_f32(w, i, values);
    if (kind == Kind::f64) modify_f64(w, i, values);
    if (kind == Kind::f16 && i.clamp) clamp_f16(w, values);
  }
  if (is_narrow(kind)) {
    const bool high = (i.op_sel & 8) != 0;
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 half = values[l] & 0xffff;
      values[l] =
          high ? (to[l] & 0xffff) | half << 16 : half | (keep_high ? to[l] & 0xffff0000 : 0);
    }
  }
  if (i.sdwa && i.dst_sel < 6) place_bytes(i, to, values);
  u64 live = w.exec();
  if (i.dpp) live &= dpp_lanes(i);
  const unsigned words = is_wide(kind) ? 2 : 1;
  if (live == ~u64{0}) {
    std::copy_n(values, words * lanes, to);
    return;
  }
  for (unsigned word = 0; word < words; ++word) {
    for (unsigned l = 0; l < lanes; ++l) {
      if ((live >> l & 1) != 0) to[word * lanes + l] = values[word * lanes + l];
    }
  }
}

}  // namespace mla::gfx
