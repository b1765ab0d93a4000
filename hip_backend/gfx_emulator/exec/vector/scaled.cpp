// gfx950: conversions of one or two numbers to and from 8-bit and 4-bit floats with a scale:
// v_cvt_scalef32_* (scaled_wide.cpp has those of 32 numbers).
#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/exec/scaled-inl.hpp"

namespace mla::gfx {
namespace {

enum class Narrow : u8 { fp8, bf8, fp4 };

template <Narrow narrow>
inline u32 encoded(float value, bool saturate) {
  if constexpr (narrow == Narrow::fp4) return encode_small<Small::fp4>(value, false, 0);
  return encode_fp8 < narrow == Narrow::fp8 ? Fp8::e4m3_ocp
                                            : Fp8::e5m2_ocp > (value, saturate, false, 0);
}

template <Narrow narrow>
inline double decoded(u32 bits) {
  if constexpr (narrow == Narrow::fp8) return fp8_table<Fp8::e4m3_ocp>.values[bits & 0xff];
  if constexpr (narrow == Narrow::bf8) return fp8_table<Fp8::e5m2_ocp>.values[bits & 0xff];
  return decode_small(bits & 15, format_of(Small::fp4));
}

template <Narrow narrow>
constexpr unsigned size_of_narrow = narrow == Narrow::fp4 ? 4 : 8;

bool saturates(const Wave& w, const Inst& i) {
  return i.clamp || (w.mode >> assumed::fp16_ovfl_bit & 1) != 0;
}

// Writes `bits` bits of each active lane at `shift`; the rest of the register stays.
template <class F>
inline void insert(Wave& w, const Inst& i, unsigned shift, unsigned bits, F value) {
  const u64 exec = w.exec();
  const u32 mask = ((u32{1} << bits) - 1) << shift;
  alignas(64) u32 out[lanes];
  for (unsigned l = 0; l < lanes; ++l) out[l] = value(l);
  u32* const to = w.reg(i.dst);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((exec >> l & 1) != 0) to[l] = (to[l] & ~mask) | (out[l] << shift & mask);
  }
}

// Two numbers; 8-bit floats go to the half, 4-bit ones to the byte that op_sel names.
template <Narrow narrow, Wide wide>
void encode_two(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr bool pair = wide != Wide::f32;  // both in one register
  constexpr unsigned size = size_of_narrow<narrow>;
  const Source<u32> a(w, i, 0), b(w, i, 1), c(w, i, pair ? 1 : 2);
  const Widened<wide> number(w);
  const bool saturate = saturates(w, i);
  const unsigned place =
      narrow == Narrow::fp4 ? 8U * (i.op_sel >> 2 & 3) : 16U * (i.op_sel >> 3 & 1);
  insert(w, i, place, 2 * size, [&](unsigned l) {
    const double scale = scale_of(c[l]);
    const float low = number(pair ? a[l] & 0xffff : a[l]);
    const float high = number(pair ? a[l] >> 16 : b[l]);
    return encoded<narrow>(scaled_down(low, scale), saturate) |
           encoded<narrow>(scaled_down(high, scale), saturate) << size;
  });
}

// One number, rounded by random bits, to the byte that op_sel names.
template <Narrow narrow, Wide wide>
void encode_stochastic(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr Fp8 kind = narrow == Narrow::fp8 ? Fp8::e4m3_ocp : Fp8::e5m2_ocp;
  const Source<u32> a(w, i, 0), random(w, i, 1), c(w, i, 2);
  const Widened<wide> number(w);
  const bool saturate = saturates(w, i);
  insert(w, i, 8U * (i.op_sel >> 2 & 3), 8, [&](unsigned l) {
    const float value = number(wide == Wide::f32 ? a[l] : a[l] & 0xffff);
    return encode_fp8<kind>(scaled_down(value, scale_of(c[l])), saturate, true, random[l]);
  });
}

// Two 4-bit floats, rounded by random bits, to the byte that op_sel names; two f32 lie in a pair of
// registers. Assumption STOCHASTIC_PASSES.
template <Wide wide>
void encode_two_stochastic(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr bool pair = wide != Wide::f32;  // both in one register
  Inst upper = i;
  if (!pair) ++upper.src[0];
  const Source<u32> a(w, i, 0), b(w, upper, 0), random(w, i, 1), c(w, i, 2);
  const Widened<wide> number(w);
  insert(w, i, 8U * (i.op_sel >> 2 & 3), 8, [&](unsigned l) {
    const double scale = scale_of(c[l]);
    const float low = scaled_down(number(pair ? a[l] & 0xffff : a[l]), scale);
    const float high = scaled_down(number(pair ? a[l] >> 16 : b[l]), scale);
    return encode_small<Small::fp4>(low, true, random[l]) |
           encode_small<Small::fp4>(high, true, next_random(random[l])) << 4;
  });
}

// Where op_sel says that the numbers lie: 8-bit pairs in a half, others in a byte.
template <Narrow narrow>
inline unsigned source_shift(const Inst& i, bool two) {
  return two && narrow != Narrow::fp4 ? 16U * (i.op_sel & 1) : 8U * (i.op_sel & 3);
}

template <Narrow narrow, Wide wide>
void decode_two(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr unsigned size = size_of_narrow<narrow>;
  const Source<u32> a(w, i, 0), c(w, i, 1);
  const unsigned shift = source_shift<narrow>(i, true);
  alignas(64) u32 out[2 * lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    const double scale = scale_of(c[l]);
    const u32 bits = a[l] >> shift;
    const u32 low = narrowed<wide>(decoded<narrow>(bits) * scale);
    const u32 high = narrowed<wide>(decoded<narrow>(bits >> size) * scale);
    out[l] = wide == Wide::f32 ? low : low | high << 16;
    out[lanes + l] = high;
  }
  const u64 exec = w.exec();
  u32* const to = w.reg(i.dst);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    to[l] = out[l];
    if constexpr (wide == Wide::f32) to[lanes + l] = out[lanes + l];
  }
}

// f16 goes to the half that op_sel[3] names.
template <Narrow narrow, Wide wide>
void decode_one(Wave& w, const Inst& i) {
  keep_denormals(w);
  const Source<u32> a(w, i, 0), c(w, i, 1);
  const unsigned shift = source_shift<narrow>(i, false);
  const auto value = [&](unsigned l) {
    return narrowed<wide>(decoded<narrow>(a[l] >> shift) * scale_of(c[l]));
  };
  if constexpr (wide == Wide::f16) return insert(w, i, 16U * (i.op_sel >> 3 & 1), 16, value);
  const u64 exec = w.exec();
  alignas(64) u32 out[lanes];
  for (unsigned l = 0; l < lanes; ++l) out[l] = value(l);
  u32* const to = w.reg(i.dst);
  for (unsigned l = 0; l < lanes; ++l) to[l] = (exec >> l & 1) != 0 ? out[l] : to[l];
}

#define BYTES(name, narrow)                                                              \
  {"v_cvt_scalef32_pk_" name "_f32", encode_two<narrow, Wide::f32>, Only::gfx950},       \
      {"v_cvt_scalef32_pk_" name "_f16", encode_two<narrow, Wide::f16>, Only::gfx950},   \
      {"v_cvt_scalef32_pk_" name "_bf16", encode_two<narrow, Wide::bf16>, Only::gfx950}, \
      {"v_cvt_scalef32_pk_f32_" name, decode_two<narrow, Wide::f32>, Only::gfx950},      \
      {"v_cvt_scalef32_pk_f16_" name, decode_two<narrow, Wide::f16>, Only::gfx950}, {    \
    "v_cvt_scalef32_pk_bf16_" name, decode_two<narrow, Wide::bf16>, Only::gfx950         \
  }
#define SINGLE(name, narrow)                                                                    \
  {"v_cvt_scalef32_sr_" name "_f32", encode_stochastic<narrow, Wide::f32>, Only::gfx950},       \
      {"v_cvt_scalef32_sr_" name "_f16", encode_stochastic<narrow, Wide::f16>, Only::gfx950},   \
      {"v_cvt_scalef32_sr_" name "_bf16", encode_stochastic<narrow, Wide::bf16>, Only::gfx950}, \
      {"v_cvt_scalef32_f32_" name, decode_one<narrow, Wide::f32>, Only::gfx950}, {              \
    "v_cvt_scalef32_f16_" name, decode_one<narrow, Wide::f16>, Only::gfx950                     \
  }

const Entry entries[] = {
    BYTES("fp8", Narrow::fp8),
    BYTES("bf8", Narrow::bf8),
    BYTES("fp4", Narrow::fp4),
    SINGLE("fp8", Narrow::fp8),
    SINGLE("bf8", Narrow::bf8),
    {"v_cvt_scalef32_sr_pk_fp4_f32", encode_two_stochastic<Wide::f32>, Only::gfx950},
    {"v_cvt_scalef32_sr_pk_fp4_f16", encode_two_stochastic<Wide::f16>, Only::gfx950},
    {"v_cvt_scalef32_sr_pk_fp4_bf16", encode_two_stochastic<Wide::bf16>, Only::gfx950},
};

}  // namespace

Entries MLA_GFX_PATH::scaled_entries() {
  return entries;
}

}  // namespace mla::gfx
