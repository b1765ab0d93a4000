// VOP3P: pairs of 16-bit values, pairs of f32, mixed multiply-adds and dot products.
//
// For each half of the result, op_sel (low) and op_sel_hi (high) choose a half of every source;
// neg and neg_hi negate there. Assumption PACKED_F32_CONSTANT.
#include <algorithm>
#include <limits>

#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

namespace mla::gfx {
namespace {

struct Packed {
  alignas(64) u32 words[lanes];
  unsigned low_shift, high_shift;
  u32 low_sign, high_sign;

  Packed(Wave& w, const Inst& i, unsigned k)
      : low_shift((i.op_sel >> k & 1) * 16U),
        high_shift((i.op_sel_hi >> k & 1) * 16U),
        low_sign((i.neg >> k & 1U) << 15),
        high_sign((i.abs >> k & 1U) << 15) {
    fetch(w, i, k, Kind::packed, words);
  }
  [[nodiscard]] u32 low(unsigned l) const { return (words[l] >> low_shift & 0xffff) ^ low_sign; }
  [[nodiscard]] u32 high(unsigned l) const { return (words[l] >> high_shift & 0xffff) ^ high_sign; }
};

inline Half half(u32 bits) {
  return Half{static_cast<u16>(bits)};
}

template <class T>
inline T element(u32 bits) {
  if constexpr (std::is_same_v<T, float>) {
    return to_float(half(bits));
  } else {
    return static_cast<T>(bits);
  }
}
template <class T>
inline u32 element_bits(const Wave& w, T value, bool clamp) {
  if constexpr (std::is_same_v<T, float>) {
    if (clamp) value = clamped(w, value);
    return rounded_half(w, value).bits;
  } else {
    return static_cast<u16>(value);
  }
}

// Without clamp: `post` only marks it, and it is done here.
inline void store_packed(Wave& w, const Inst& i, u32* out) {
  // v_dot2c and its like, the only ones here that DPP's masks of rows and banks apply to.
  if (i.dpp) return finish(w, i, Kind::b32, false, out);
  const u32* const mask = lane_mask(w);
  u32* const to = w.reg(i.dst);
  MLA_GFX_LANES {
    to[l] = (out[l] & mask[l]) | (to[l] & ~mask[l]);
  }
}

template <class T, class F>
constexpr Handler pairs(F) {
  return [](Wave& w, const Inst& i) {
    if constexpr (std::is_same_v<T, float>) use_half_rounding(w);
    const Packed a(w, i, 0), b(w, i, 1);
    alignas(64) u32 out[lanes];
    for (unsigned l = 0; l < lanes; ++l) {
      const T low = F{}(element<T>(a.low(l)), element<T>(b.low(l)), i.clamp);
      const T high = F{}(element<T>(a.high(l)), element<T>(b.high(l)), i.clamp);
      out[l] = element_bits<T>(w, low, i.clamp) | element_bits<T>(w, high, i.clamp) << 16;
    }
    store_packed(w, i, out);
  };
}

template <class T, class F>
constexpr Handler triples(F) {
  return [](Wave& w, const Inst& i) {
    if constexpr (std::is_same_v<T, float>) use_half_rounding(w);
    const Packed a(w, i, 0), b(w, i, 1), c(w, i, 2);
    alignas(64) u32 out[lanes];
    for (unsigned l = 0; l < lanes; ++l) {
      const T low = F{}(element<T>(a.low(l)), element<T>(b.low(l)), element<T>(c.low(l)), i.clamp);
      const T high =
          F{}(element<T>(a.high(l)), element<T>(b.high(l)), element<T>(c.high(l)), i.clamp);
      out[l] = element_bits<T>(w, low, i.clamp) | element_bits<T>(w, high, i.clamp) << 16;
    }
    store_packed(w, i, out);
  };
}

template <class T>
inline T limited(i32 value, bool clamp) {
  if (clamp) {
    value = std::clamp<i32>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
  return static_cast<T>(value);
}

// Two f32 in a pair of registers.
struct Pair {
  alignas(64) u32 words[2 * lanes];
  const u32* low;
  const u32* high;

  Pair(Wave& w, const Inst& i, unsigned k) {
    const std::uint16_t operand = i.src[k];
    const u32* first = words;
    if (operand >= code::vgpr) {
      first = w.reg(operand);
    } else {
      const bool in_registers = operand < 128;
      const u32 a = read_scalar(w, i, operand);
      const u32 b = in_registers ? w.s[(operand + 1) & 127] : a;
      std::fill_n(words, lanes, a);
      std::fill_n(words + lanes, lanes, b);
    }
    low = first + ((i.op_sel >> k & 1) != 0 ? lanes : 0);
    high = first + ((i.op_sel_hi >> k & 1) != 0 ? lanes : 0);
    low_sign = (i.neg >> k & 1U) << 31;
    high_sign = (i.abs >> k & 1U) << 31;
  }
  u32 low_sign, high_sign;
  [[nodiscard]] float first(unsigned l) const { return float_of(low[l] ^ low_sign); }
  [[nodiscard]] float second(unsigned l) const { return float_of(high[l] ^ high_sign); }
};

template <unsigned sources, class F>
constexpr Handler float_pairs(F) {
  return [](Wave& w, const Inst& i) {
    const Pair a(w, i, 0), b(w, i, 1), c(w, i, sources == 3 ? 2 : 1);
    alignas(64) u32 low[lanes];
    alignas(64) u32 high[lanes];
    MLA_GFX_LANES {
      low[l] = bits_of(F{}(a.first(l), b.first(l), c.first(l)));
      high[l] = bits_of(F{}(a.second(l), b.second(l), c.second(l)));
    }
    if (i.clamp) {
      for (u32* part : {low, high}) {
        for (unsigned l = 0; l < lanes; ++l) {
          part[l] = bits_of(clamped(w, float_of(part[l])));
        }
      }
    }
    u32* const to = w.reg(i.dst);
    const u32* const mask = lane_mask(w);
    MLA_GFX_LANES {
      to[l] = (low[l] & mask[l]) | (to[l] & ~mask[l]);
      to[lanes + l] = (high[l] & mask[l]) | (to[lanes + l] & ~mask[l]);
    }
  };
}

// v_pk_mov_b32: the low result from source 0, the high result from source 1.
void move_pair(Wave& w, const Inst& i) {
  const Pair a(w, i, 0), b(w, i, 1);
  alignas(64) u32 out[2 * lanes];
  std::copy_n(a.low, lanes, out);
  std::copy_n(b.high, lanes, out + lanes);
  const u32* const mask = lane_mask(w);
  u32* const to = w.reg(i.dst);
  for (unsigned l = 0; l < 2 * lanes; ++l) {
    to[l] = (out[l] & mask[l % lanes]) | (to[l] & ~mask[l % lanes]);
  }
}

// v_fma_mix: each source is an f32, or (op_sel_hi) a half chosen by op_sel.
struct Mixed {
  alignas(64) u32 words[lanes];
  bool is_half;
  unsigned shift;
  u32 keep, flip;

  Mixed(Wave& w, const Inst& i, unsigned k)
      : is_half((i.op_sel_hi >> k & 1) != 0),
        shift((i.op_sel >> k & 1) * 16U),
        keep((i.abs >> k & 1) != 0 ? 0x7fffffff : ~0U),
        flip((i.neg >> k & 1U) << 31) {
    const std::uint16_t operand = i.src[k];
    const bool constant = operand >= 128 && operand < 249;
    fetch(w, i, k, Kind::packed, words);
    if (!is_half && constant) std::fill_n(words, lanes, read_scalar(w, i, operand));
  }
  [[nodiscard]] float operator[](unsigned l) const {
    const float value = is_half ? to_float(half(words[l] >> shift)) : float_of(words[l]);
    return float_of((bits_of(value) & keep) ^ flip);
  }
};

enum class Part { whole, low, high };

template <Part part>
void fma_mix(Wave& w, const Inst& i) {
  const Mixed a(w, i, 0), b(w, i, 1), c(w, i, 2);
  u32* const to = w.reg(i.dst);
  const u64 exec = w.exec();
  for (unsigned l = 0; l < lanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    float value = __builtin_fmaf(a[l], b[l], c[l]);
    if (i.clamp) value = clamped(w, value);
    if (part == Part::whole) to[l] = bits_of(value);
    if (part == Part::low) to[l] = (to[l] & 0xffff0000) | half_result(w, value).bits;
    if (part == Part::high) to[l] = (to[l] & 0xffff) | u32{half_result(w, value).bits} << 16;
  }
}

// Dot products of packed integers.
template <unsigned bits, bool is_signed>
inline i64 dot(u32 a, u32 b) {
  i64 sum = 0;
  for (unsigned k = 0; k < 32; k += bits) {
    const u32 x = a << (32 - bits - k), y = b << (32 - bits - k);
    sum += is_signed
               ? i64{static_cast<i32>(x) >> (32 - bits)} * (static_cast<i32>(y) >> (32 - bits))
               : static_cast<i64>(u64{x >> (32 - bits)} * (y >> (32 - bits)));
  }
  return sum;
}

template <unsigned bits, bool is_signed>
constexpr Handler integer_dot() {
  return [](Wave& w, const Inst& i) {
    alignas(64) u32 a[lanes], b[lanes], c[lanes], out[lanes];
    fetch(w, i, 0, Kind::packed, a);
    fetch(w, i, 1, Kind::packed, b);
    fetch(w, i, 2, Kind::packed, c);
    for (unsigned l = 0; l < lanes; ++l) {
      const i64 addend = is_signed ? i64{static_cast<i32>(c[l])} : i64{c[l]};
      i64 sum = dot<bits, is_signed>(a[l], b[l]) + addend;
      if (i.clamp) {
        sum = std::clamp<i64>(sum, is_signed ? std::numeric_limits<i32>::min() : 0,
                              is_signed ? i64{std::numeric_limits<i32>::max()} : 0xffffffff);
      }
      out[l] = static_cast<u32>(sum);
    }
    store_packed(w, i, out);
  };
}

template <bool brain>
void float_dot(Wave& w, const Inst& i) {
  const bool plain = i.width[3] != 0 && i.src[2] == i.dst && i.words == 1;
  Inst whole = i;
  if (plain || i.op_sel_hi == 0) whole.op_sel_hi = 7;
  const Packed a(w, whole, 0), b(w, whole, 1);
  alignas(64) u32 c[lanes], out[lanes];
  fetch(w, i, 2, Kind::f32, c);
  const auto value = [](u32 bits) { return brain ? bf16_to_float(bits) : to_float(half(bits)); };
  for (unsigned l = 0; l < lanes; ++l) {
    const float low = __builtin_fmaf(value(a.low(l)), value(b.low(l)), float_of(c[l]));
    const float sum = __builtin_fmaf(value(a.high(l)), value(b.high(l)), low);
    out[l] = bits_of(i.clamp ? clamped(w, sum) : sum);
  }
  store_packed(w, i, out);
}

const Entry entries[] = {
    {"v_pk_add_f16", pairs<float>([](float a, float b, bool) { return a + b; })},
    {"v_pk_mul_f16", pairs<float>([](float a, float b, bool) { return a * b; })},
    {"v_pk_min_f16", pairs<float>([](float a, float b, bool) { return minimum(a, b); })},
    {"v_pk_max_f16", pairs<float>([](float a, float b, bool) { return maximum(a, b); })},
    {"v_pk_minimum3_f16", triples<float>([](float a, float b, float c, bool) {
       return is_nan(a) || is_nan(b) || is_nan(c) ? a + b + c : minimum(minimum(a, b), c);
     })},
    {"v_pk_maximum3_f16", triples<float>([](float a, float b, float c, bool) {
       return is_nan(a) || is_nan(b) || is_nan(c) ? a + b + c : maximum(maximum(a, b), c);
     })},
    {"v_pk_add_u16", pairs<u16>([](u16 a, u16 b, bool s) { return limited<u16>(a + b, s); })},
    {"v_pk_sub_u16", pairs<u16>([](u16 a, u16 b, bool s) { return limited<u16>(a - b, s); })},
    {"v_pk_add_i16", pairs<i16>([](i16 a, i16 b, bool s) { return limited<i16>(a + b, s); })},
    {"v_pk_sub_i16", pairs<i16>([](i16 a, i16 b, bool s) { return limited<i16>(a - b, s); })},
    {"v_pk_mul_lo_u16",
     pairs<u16>([](u16 a, u16 b, bool) { return static_cast<u16>(u32{a} * b); })},
    {"v_pk_min_i16", pairs<i16>([](i16 a, i16 b, bool) { return std::min(a, b); })},
    {"v_pk_max_i16", pairs<i16>([](i16 a, i16 b, bool) { return std::max(a, b); })},
    {"v_pk_min_u16", pairs<u16>([](u16 a, u16 b, bool) { return std::min(a, b); })},
    {"v_pk_max_u16", pairs<u16>([](u16 a, u16 b, bool) { return std::max(a, b); })},
    {"v_pk_lshlrev_b16",
     pairs<u16>([](u16 a, u16 b, bool) { return static_cast<u16>(b << (a & 15)); })},
    {"v_pk_lshrrev_b16",
     pairs<u16>([](u16 a, u16 b, bool) { return static_cast<u16>(b >> (a & 15)); })},
    {"v_pk_ashrrev_i16",
     pairs<i16>([](i16 a, i16 b, bool) { return static_cast<i16>(b >> (a & 15)); })},
    {"v_pk_mad_u16", triples<u16>([](u16 a, u16 b, u16 c, bool s) {
       const u32 sum = u32{a} * b + c;
       return static_cast<u16>(s ? std::min(sum, 0xffffU) : sum);
     })},
    {"v_pk_mad_i16",
     triples<i16>([](i16 a, i16 b, i16 c, bool s) { return limited<i16>(i32{a} * b + c, s); })},
    {"v_pk_fma_f32",
     float_pairs<3>([](float a, float b, float c) { return __builtin_fmaf(a, b, c); })},
    {"v_pk_mul_f32", float_pairs<2>([](float a, float b, float) { return a * b; })},
    {"v_pk_add_f32", float_pairs<2>([](float a, float b, float) { return a + b; })},
    {"v_pk_mov_b32", move_pair},
    {"v_fma_mix_f32", fma_mix<Part::whole>},
    {"v_fma_mixlo_f16", fma_mix<Part::low>},
    {"v_fma_mixhi_f16", fma_mix<Part::high>},
    {"v_dot2_i32_i16", integer_dot<16, true>()},
    {"v_dot2_u32_u16", integer_dot<16, false>()},
    {"v_dot4_i32_i8", integer_dot<8, true>()},
    {"v_dot4_u32_u8", integer_dot<8, false>()},
    {"v_dot8_i32_i4", integer_dot<4, true>()},
    {"v_dot8_u32_u4", integer_dot<4, false>()},
    {"v_dot2c_i32_i16", integer_dot<16, true>()},
    {"v_dot4c_i32_i8", integer_dot<8, true>()},
    {"v_dot8c_i32_i4", integer_dot<4, true>()},
    {"v_dot2_f32_f16", float_dot<false>},
    {"v_dot2_f32_bf16", float_dot<true>},
    {"v_dot2c_f32_f16", float_dot<false>},
    {"v_dot2c_f32_bf16", float_dot<true>},
};

}  // namespace

Entries MLA_GFX_PATH::packed_entries() {
  return entries;
}

}  // namespace mla::gfx
