// Conversions to normalised integers, to packed bytes, and to f16 with random bits. They round in
// their own way, whatever MODE says. Assumptions NORM_ROUNDING and STOCHASTIC_ROUNDING.
#include <algorithm>

#include "hip_backend/gfx_emulator/exec/half-inl.hpp"

namespace mla::gfx {
namespace {

template <class F>
constexpr Handler nearest_even(F) {
  return [](Wave& w, const Inst& i) {
    keep_denormals(w);
    run_lanes<F, false>(w, i);
  };
}

// A number between `low` and 1 in units of 1 / largest. The product is exact in f64.
template <int low, int largest>
inline u32 normalised(Half half) {
  const auto value = static_cast<double>(to_float(half));
  const double limited = value >= low ? value <= 1 ? value : 1.0 : value < low ? low : 0.0;
  return static_cast<u32>(static_cast<i32>(__builtin_rint(limited * largest))) & 0xffff;
}
inline u32 snorm(Half half) {
  return normalised<-1, 32767>(half);
}
inline u32 unorm(Half half) {
  return normalised<0, 65535>(half);
}

inline u32 to_byte(float value) {
  const float whole = __builtin_rintf(value);
  return whole > 0 ? whole < 255 ? static_cast<u32>(static_cast<i32>(whole)) : 255 : 0;
}

// The byte that the second source names; the others stay.
void accumulate_byte(Wave& w, const Inst& i) {
  keep_denormals(w);
  const Source<float> value(w, i, 0);
  const Source<u32> place(w, i, 1);
  const u32* const old = w.reg(i.src[2]);
  store_lanes<u32, false>(w, i, [&](unsigned l) {
    const u32 shift = 8 * (place[l] & 3);
    return (old[l] & ~(0xffU << shift)) | to_byte(value[l]) << shift;
  });
}

// The random bits stand below the last bit that is kept, then the value is truncated.
inline Half to_half_stochastic(float value, u32 random, u64 largest) {
  const u32 bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x7f800000) return to_half(value);
  const u32 exponent = std::max(magnitude >> 23, 1U);
  const u64 significand = (magnitude & 0x7fffff) | (magnitude < 0x800000 ? 0U : 0x800000U);
  // Below 2^-14 the last bit is 2^-24. Past 55 bits nothing but a rounding error is left.
  const u32 drop = exponent < 113 ? std::min(126 - exponent, 55U) : 13;
  const u64 below = drop >= 32 ? u64{random} << (drop - 32) : u64{random} >> (32 - drop);
  const u64 kept = (significand + below) >> drop;
  const u64 out = kept + (exponent < 113 ? 0 : u64{exponent - 113} << 10);
  return Half{static_cast<u16>(std::min(out, largest) | sign)};
}

void stochastic_half(Wave& w, const Inst& i) {
  const Source<float> a(w, i, 0);
  const Source<u32> random(w, i, 1);
  const u64 largest = limits_halves(w) ? 0x7bff : 0x7c00;
  store_lanes<Half, true>(w, i, [&](unsigned l) {
    return to_half_stochastic(a[l] * opaque_one, random[l], largest);  // flushed as MODE says
  });
}

const Entry entries[] = {
    {"v_cvt_norm_i16_f16", nearest_even([](Half a) -> u16 { return static_cast<u16>(snorm(a)); })},
    {"v_cvt_norm_u16_f16", nearest_even([](Half a) -> u16 { return static_cast<u16>(unorm(a)); })},
    {"v_cvt_pknorm_i16_f16",
     nearest_even([](Half a, Half b) -> u32 { return snorm(a) | snorm(b) << 16; })},
    {"v_cvt_pknorm_u16_f16",
     nearest_even([](Half a, Half b) -> u32 { return unorm(a) | unorm(b) << 16; })},
    {"v_cvt_pkaccum_u8_f32", accumulate_byte},
    {"v_cvt_sr_f16_f32", stochastic_half},
};

}  // namespace

Entries MLA_GFX_PATH::convert_entries() {
  return entries;
}

}  // namespace mla::gfx
