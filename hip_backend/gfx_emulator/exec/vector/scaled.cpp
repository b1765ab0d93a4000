// gfx950: conversions to and from 8-bit and 4-bit floats with a scale: v_cvt_scalef32_*. A scale is
// the power of two in the exponent of an f32; encoding divides by it, decoding multiplies.
// Assumption FP8_RANGE. The 6-bit floats and the stochastic 4-bit ones are not executed.
#include <algorithm>
#include <cmath>

#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/exec/fp8-inl.hpp"

namespace mla::gfx {
namespace {

enum class Wide : u8 { f32, f16, bf16 };
enum class Narrow : u8 { fp8, bf8, fp4 };

// Zero stands for 2^-127, as in every scale of eight bits; 255 is NaN.
inline double scale_of(u32 bits) {
  const int exponent = static_cast<int>(bits >> 23 & 0xff);
  return exponent == 0xff ? std::bit_cast<double>(u64{0x7ff8000000000000})
                          : std::ldexp(1.0, exponent - 127);
}

template <Wide wide>
inline float widened(u32 bits) {
  if constexpr (wide == Wide::f32) return std::bit_cast<float>(bits);
  if constexpr (wide == Wide::bf16) return bf16_to_float(bits);
  return to_float(Half{static_cast<u16>(bits)});
}

// The nearest float of a number whose significand has few bits; what a float cannot hold becomes
// infinity or zero, which every narrow format holds for the same.
inline float scaled_down(float value, double scale) {
  return static_cast<float>(static_cast<double>(value) / scale);
}

// e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. Saturates; NaN becomes 6.
inline u32 encode_fp4(float value) {
  if (is_nan(value)) return 7;
  const u32 sign = bits_of(value) >> 28 & 8;
  const float magnitude = std::fabs(value);
  if (magnitude > 5.0F) return sign | 7;
  // Between two numbers the one with the even last bit wins: its interval is closed.
  u32 code = 0;
  code += magnitude > 0.25F ? 1 : 0;
  code += magnitude >= 0.75F ? 1 : 0;
  code += magnitude > 1.25F ? 1 : 0;
  code += magnitude >= 1.75F ? 1 : 0;
  code += magnitude > 2.5F ? 1 : 0;
  code += magnitude >= 3.5F ? 1 : 0;
  return sign | code;
}

template <Narrow narrow>
inline u32 encoded(float value, bool saturate) {
  if constexpr (narrow == Narrow::fp4) return encode_fp4(value);
  return encode_fp8 < narrow == Narrow::fp8 ? Fp8::e4m3_ocp
                                            : Fp8::e5m2_ocp > (value, saturate, false, 0);
}

template <Narrow narrow>
inline double decoded(u32 bits) {
  if constexpr (narrow == Narrow::fp8) return fp8_table<Fp8::e4m3_ocp>.values[bits & 0xff];
  if constexpr (narrow == Narrow::bf8) return fp8_table<Fp8::e5m2_ocp>.values[bits & 0xff];
  constexpr double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -values[bits & 7] : values[bits & 7];
}

// From a product that is exact in f64: one rounding.
template <Wide wide>
inline u32 narrowed(double value) {
  const auto single = static_cast<float>(value);
  if constexpr (wide == Wide::f32) return bits_of(single);
  // At most four significant bits: f32 holds them, and what is denormal there is zero below.
  if constexpr (wide == Wide::f16) return to_half(single).bits;
  return to_bf16(single);
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
  const bool saturate = saturates(w, i);
  const unsigned place =
      narrow == Narrow::fp4 ? 8U * (i.op_sel >> 2 & 3) : 16U * (i.op_sel >> 3 & 1);
  insert(w, i, place, 2 * size, [&](unsigned l) {
    const double scale = scale_of(c[l]);
    const float low = widened<wide>(pair ? a[l] & 0xffff : a[l]);
    const float high = widened<wide>(pair ? a[l] >> 16 : b[l]);
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
  const bool saturate = saturates(w, i);
  insert(w, i, 8U * (i.op_sel >> 2 & 3), 8, [&](unsigned l) {
    const float value = widened<wide>(wide == Wide::f32 ? a[l] : a[l] & 0xffff);
    return encode_fp8<kind>(scaled_down(value, scale_of(c[l])), saturate, true, random[l]);
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
    BYTES("fp8", Narrow::fp8),  BYTES("bf8", Narrow::bf8),  BYTES("fp4", Narrow::fp4),
    SINGLE("fp8", Narrow::fp8), SINGLE("bf8", Narrow::bf8),
};

}  // namespace

Entries MLA_GFX_PATH::scaled_entries() {
  return entries;
}

}  // namespace mla::gfx
