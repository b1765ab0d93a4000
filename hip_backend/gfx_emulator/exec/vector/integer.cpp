// 32-bit and 16-bit integer operations.
#include <algorithm>
#include <limits>

#include "hip_backend/gfx_emulator/exec/random-inl.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mla::gfx {
namespace {

inline i32 low24(u32 a) {
  return static_cast<i32>(a << 8) >> 8;
}
inline u32 reverse(u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return a >> 24 | (a >> 8 & 0xff00) | (a << 8 & 0xff0000) | a << 24;
}

// Saturating forms, for the clamp bit.
template <class T>
inline T add_limited(T a, T b) {
  T out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}
template <class T>
inline T sub_limited(T a, T b) {
  T out = 0;
  if (!__builtin_sub_overflow(a, b, &out)) return out;
  return std::is_signed_v<T> && a >= 0 ? std::numeric_limits<T>::max()
                                       : std::numeric_limits<T>::min();
}

template <class T>
constexpr Handler add() {
  return each_lane_saturating(
      [](T a, T b) { return static_cast<T>(static_cast<u32>(a) + static_cast<u32>(b)); },
      [](T a, T b) { return add_limited<T>(a, b); });
}
template <class T>
constexpr Handler sub() {
  return each_lane_saturating(
      [](T a, T b) { return static_cast<T>(static_cast<u32>(a) - static_cast<u32>(b)); },
      [](T a, T b) { return sub_limited<T>(a, b); });
}
template <class T>
constexpr Handler subrev() {
  return each_lane_saturating(
      [](T a, T b) { return static_cast<T>(static_cast<u32>(b) - static_cast<u32>(a)); },
      [](T a, T b) { return sub_limited<T>(b, a); });
}

// What T holds of an exact value.
template <class T>
inline T saturated(i64 value) {
  constexpr i64 least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return static_cast<T>(value < least ? least : value > most ? most : value);
}

// The same for 16-bit results that keep the upper half of their register.
template <class F, class G>
constexpr Handler each_lane_saturating_keeping_high(F, G) {
  return [](Wave& w, const Inst& i) {
    if (!i.clamp) return run_lanes<F, true>(w, i);
    run_lanes<G, true>(w, i);
  };
}

// Modulo 2^16, or saturated.
#define SHORT_MULTIPLY_ADD(form, type)                                                        \
  form([](type a, type b, type c) { return static_cast<type>(static_cast<u32>(a) * b + c); }, \
       [](type a, type b, type c) { return saturated<type>(i64{a} * b + c); })
// A sum of absolute differences and the third source.
#define DIFFERENCES(...)                                                                      \
  each_lane_saturating([](u32 a, u32 b, u32 c) { return static_cast<u32>(__VA_ARGS__) + c; }, \
                       [](u32 a, u32 b, u32 c) { return saturated<u32>(i64{__VA_ARGS__} + c); })

template <class T>
inline T middle(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

inline u32 field_mask(u32 width, u32 offset) {
  return ((1U << (width & 31)) - 1) << (offset & 31);
}

inline u32 extract(u32 a, u32 offset, u32 width) {
  return a >> (offset & 31) & ((1U << (width & 31)) - 1);
}
inline i32 extract_signed(u32 a, u32 offset, u32 width) {
  const u32 w = width & 31, o = offset & 31;
  if (w == 0) return 0;
  if (o + w >= 32) return static_cast<i32>(a) >> o;
  return static_cast<i32>(a << (32 - o - w)) >> (32 - w);
}

// One byte of the eight in {a, b} for a selector below 8; a sign for 8 to 11; 0 for 12; else 0xff.
inline u32 pick_byte(u32 a, u32 b, u32 s) {
  const u32 byte = ((s & 4) != 0 ? a : b) >> 8 * (s & 3) & 0xff;
  const u32 sign = 0U - (((s & 2) != 0 ? a : b) >> ((s & 1) != 0 ? 31 : 15) & 1);
  const u32 rest = s == 12 ? 0 : 0xff;
  return s < 8 ? byte : s < 12 ? sign & 0xff : rest;
}
inline u32 permute_bytes(u32 a, u32 b, u32 selectors) {
  return pick_byte(a, b, selectors & 0xff) | pick_byte(a, b, selectors >> 8 & 0xff) << 8 |
         pick_byte(a, b, selectors >> 16 & 0xff) << 16 | pick_byte(a, b, selectors >> 24) << 24;
}

#if defined(__AVX2__)
// One selector for all lanes, bytes 0 to 7 only: a shuffle of each source, with 0x80 giving zero.
inline void permute_alike(Wave& w, const Inst& i, const u32* a, const u32* b, u32 selectors) {
  const auto shuffle = [&](u32 elsewhere) {
    const u32 pattern = (selectors & 0x03030303) | (elsewhere & 0x04040404) << 5;
    const __m256i dwords = _mm256_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0, 0x0c0c0c0c,
                                            0x08080808, 0x04040404, 0);
    return _mm256_add_epi8(_mm256_set1_epi32(static_cast<i32>(pattern)), dwords);
  };
  const __m256i from_a = shuffle(~selectors), from_b = shuffle(selectors);
  alignas(64) u32 out[lanes];
  u32* const to = all_lanes(w) && !i.post ? w.reg(i.dst) : out;
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(a + l));
    const __m256i y = _mm256_load_si256(reinterpret_cast<const __m256i*>(b + l));
    const __m256i bytes =
        _mm256_or_si256(_mm256_shuffle_epi8(x, from_a), _mm256_shuffle_epi8(y, from_b));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + l), bytes);
  }
  if (to == out) store_lanes<u32, false>(w, i, [&](unsigned l) { return out[l]; });
}
#endif

// Selectors are mostly the same for all lanes: then every byte is two shifts and a mask.
void permute(Wave& w, const Inst& i) {
  const Source<u32> a(w, i, 0), b(w, i, 1);
  const u32 same = i.src[2] < code::vgpr ? read_scalar(w, i, i.src[2]) : ~0U;
  if ((same & 0xf8f8f8f8) != 0) {
    const Source<u32> c(w, i, 2);
    return store_lanes<u32, false>(w, i,
                                   [&](unsigned l) { return permute_bytes(a[l], b[l], c[l]); });
  }
#if defined(__AVX2__)
  return permute_alike(w, i, a.low, b.low, same);
#endif
  const u32* const from[4] = {(same & 4) != 0 ? a.low : b.low, (same & 0x400) != 0 ? a.low : b.low,
                              (same & 0x40000) != 0 ? a.low : b.low,
                              (same & 0x4000000) != 0 ? a.low : b.low};
  const u32 s0 = 8 * (same & 3), s1 = 8 * (same >> 8 & 3), s2 = 8 * (same >> 16 & 3);
  const u32 s3 = 8 * (same >> 24 & 3);
  store_lanes<u32, false>(w, i, [&](unsigned l) {
    return (from[0][l] >> s0 & 0xff) | (from[1][l] >> s1 & 0xff) << 8 |
           (from[2][l] >> s2 & 0xff) << 16 | from[3][l] >> s3 << 24;
  });
}

inline u32 difference(u32 a, u32 b) {
  return a > b ? a - b : b - a;
}
inline u32 byte_sad(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned k = 0; k < 32; k += 8) sum += difference(a >> k & 0xff, b >> k & 0xff);
  return sum;
}
inline u32 masked_sad(u32 a, u32 b) {
  u32 sum = 0;
  for (unsigned k = 0; k < 32; k += 8) {
    if ((b >> k & 0xff) != 0) sum += difference(a >> k & 0xff, b >> k & 0xff);
  }
  return sum;
}
inline u32 lerp_bytes(u32 a, u32 b, u32 round) {
  u32 out = 0;
  for (unsigned k = 0; k < 32; k += 8) {
    out |= ((a >> k & 0xff) + (b >> k & 0xff) + (round >> k & 1)) >> 1 << k;
  }
  return out;
}

inline u32 limited(i32 value, i32 low, i32 high) {
  return static_cast<u32>(value < low ? low : value > high ? high : value);
}

// 16 bits of result, which op_sel can place; the other half is kept.
template <bool is_signed>
constexpr Handler shift_and_pack() {
  return each_lane_keeping_high([](u32 a, u32 b, u32 c) -> u16 {
    const i32 low = static_cast<i32>(a) >> (c & 31), high = static_cast<i32>(b) >> (c & 31);
    constexpr i32 least = is_signed ? -128 : 0, most = is_signed ? 127 : 255;
    return static_cast<u16>((limited(low, least, most) & 0xff) | limited(high, least, most) << 8);
  });
}

const Entry entries[] = {
    {"v_add_u32", add<u32>()},
    {"v_sub_u32", sub<u32>()},
    {"v_subrev_u32", subrev<u32>()},
    {"v_add_i32", add<i32>()},
    {"v_sub_i32", sub<i32>()},
    {"v_add_u16", add<u16>()},
    {"v_sub_u16", sub<u16>()},
    {"v_subrev_u16", subrev<u16>()},
    {"v_add_i16", add<i16>()},
    {"v_sub_i16", sub<i16>()},
    {"v_and_b32", each_lane([](u32 a, u32 b) { return a & b; })},
    {"v_or_b32", each_lane([](u32 a, u32 b) { return a | b; })},
    {"v_xor_b32", each_lane([](u32 a, u32 b) { return a ^ b; })},
    {"v_xnor_b32", each_lane([](u32 a, u32 b) { return ~(a ^ b); })},
    {"v_not_b32", each_lane([](u32 a) { return ~a; })},
    {"v_lshlrev_b32", each_lane([](u32 a, u32 b) { return b << (a & 31); })},
    {"v_lshrrev_b32", each_lane([](u32 a, u32 b) { return b >> (a & 31); })},
    {"v_ashrrev_i32", each_lane([](u32 a, i32 b) { return b >> (a & 31); })},
    {"v_lshlrev_b16", each_lane([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); })},
    {"v_lshrrev_b16", each_lane([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })},
    {"v_ashrrev_i16", each_lane([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })},
    {"v_min_i32", each_lane([](i32 a, i32 b) { return std::min(a, b); })},
    {"v_max_i32", each_lane([](i32 a, i32 b) { return std::max(a, b); })},
    {"v_min_u32", each_lane([](u32 a, u32 b) { return std::min(a, b); })},
    {"v_max_u32", each_lane([](u32 a, u32 b) { return std::max(a, b); })},
    {"v_min_i16", each_lane([](i16 a, i16 b) { return std::min(a, b); })},
    {"v_max_i16", each_lane([](i16 a, i16 b) { return std::max(a, b); })},
    {"v_min_u16", each_lane([](u16 a, u16 b) { return std::min(a, b); })},
    {"v_max_u16", each_lane([](u16 a, u16 b) { return std::max(a, b); })},
    {"v_min3_i32", each_lane([](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); })},
    {"v_max3_i32", each_lane([](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); })},
    {"v_med3_i32", each_lane([](i32 a, i32 b, i32 c) { return middle(a, b, c); })},
    {"v_min3_u32", each_lane([](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); })},
    {"v_max3_u32", each_lane([](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); })},
    {"v_med3_u32", each_lane([](u32 a, u32 b, u32 c) { return middle(a, b, c); })},
    {"v_min3_i16", each_lane([](i16 a, i16 b, i16 c) { return std::min(std::min(a, b), c); })},
    {"v_max3_i16", each_lane([](i16 a, i16 b, i16 c) { return std::max(std::max(a, b), c); })},
    {"v_med3_i16", each_lane([](i16 a, i16 b, i16 c) { return middle(a, b, c); })},
    {"v_min3_u16", each_lane([](u16 a, u16 b, u16 c) { return std::min(std::min(a, b), c); })},
    {"v_max3_u16", each_lane([](u16 a, u16 b, u16 c) { return std::max(std::max(a, b), c); })},
    {"v_med3_u16", each_lane([](u16 a, u16 b, u16 c) { return middle(a, b, c); })},
    {"v_add3_u32", each_lane([](u32 a, u32 b, u32 c) { return a + b + c; })},
    {"v_xad_u32", each_lane([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })},
    {"v_lshl_add_u32", each_lane([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; })},
    {"v_add_lshl_u32", each_lane([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); })},
    {"v_lshl_or_b32", each_lane([](u32 a, u32 b, u32 c) { return a << (b & 31) | c; })},
    {"v_and_or_b32", each_lane([](u32 a, u32 b, u32 c) { return (a & b) | c; })},
    {"v_or3_b32", each_lane([](u32 a, u32 b, u32 c) { return a | b | c; })},
    {"v_bfi_b32", each_lane([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); })},
    {"v_bfe_u32", each_lane([](u32 a, u32 b, u32 c) { return extract(a, b, c); })},
    {"v_bfe_i32", each_lane([](u32 a, u32 b, u32 c) { return extract_signed(a, b, c); })},
    {"v_bfm_b32", each_lane([](u32 a, u32 b) { return field_mask(a, b); })},
    {"v_bfrev_b32", each_lane([](u32 a) { return reverse(a); })},
    {"v_perm_b32", permute},
    {"v_alignbit_b32", each_lane([](u32 a, u32 b, u32 c) {
       return static_cast<u32>((u64{a} << 32 | b) >> (c & 31));
     })},
    {"v_alignbyte_b32", each_lane([](u32 a, u32 b, u32 c) {
       return static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3));
     })},
    {"v_bcnt_u32_b32",
     each_lane([](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; })},
    {"v_ffbh_u32",
     each_lane([](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); })},
    {"v_ffbl_b32",
     each_lane([](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); })},
    {"v_ffbh_i32", each_lane([](i32 a) {
       const auto x = static_cast<u32>(a < 0 ? ~a : a);
       return x == 0 ? ~0U : static_cast<u32>(std::countl_zero(x));
     })},
    {"v_mul_u32_u24",
     each_lane_saturating(
         [](u32 a, u32 b) { return (a & 0xffffff) * (b & 0xffffff); },
         [](u32 a, u32 b) { return saturated<u32>(i64{a & 0xffffff} * (b & 0xffffff)); })},
    {"v_mul_i32_i24",
     each_lane_saturating(
         [](u32 a, u32 b) { return static_cast<u32>(low24(a)) * static_cast<u32>(low24(b)); },
         [](u32 a, u32 b) { return static_cast<u32>(saturated<i32>(i64{low24(a)} * low24(b))); })},
    {"v_mad_u32_u24",
     each_lane_saturating([](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; },
                          [](u32 a, u32 b, u32 c) {
                            return saturated<u32>(i64{a & 0xffffff} * (b & 0xffffff) + c);
                          })},
    {"v_mad_i32_i24", each_lane_saturating(
                          [](u32 a, u32 b, u32 c) {
                            return static_cast<u32>(low24(a)) * static_cast<u32>(low24(b)) + c;
                          },
                          [](u32 a, u32 b, u32 c) {
                            const i64 sum = i64{low24(a)} * low24(b) + static_cast<i32>(c);
                            return static_cast<u32>(saturated<i32>(sum));
                          })},
    {"v_mul_lo_u32", each_lane([](u32 a, u32 b) { return a * b; })},
    {"v_mul_lo_u16", each_lane([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })},
    {"v_mad_u16", SHORT_MULTIPLY_ADD(each_lane_saturating_keeping_high, u16)},
    {"v_mad_i16", SHORT_MULTIPLY_ADD(each_lane_saturating_keeping_high, i16)},
    {"v_mad_legacy_u16", SHORT_MULTIPLY_ADD(each_lane_saturating, u16)},
    {"v_mad_legacy_i16", SHORT_MULTIPLY_ADD(each_lane_saturating, i16)},
    {"v_mad_u32_u16",
     each_lane_saturating([](u16 a, u16 b, u32 c) { return u32{a} * b + c; },
                          [](u16 a, u16 b, u32 c) { return saturated<u32>(i64{a} * b + c); })},
    {"v_mad_i32_i16",
     each_lane_saturating(
         [](i16 a, i16 b, i32 c) { return static_cast<i32>(static_cast<u32>(i32{a} * b) + c); },
         [](i16 a, i16 b, i32 c) { return saturated<i32>(i64{a} * b + c); })},
    {"v_sad_u8", DIFFERENCES(byte_sad(a, b))},
    {"v_sad_hi_u8", DIFFERENCES(byte_sad(a, b) << 16)},
    {"v_msad_u8", DIFFERENCES(masked_sad(a, b))},
    {"v_sad_u16", DIFFERENCES(difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16))},
    {"v_sad_u32", DIFFERENCES(difference(a, b))},
    {"v_lerp_u8", each_lane([](u32 a, u32 b, u32 c) { return lerp_bytes(a, b, c); })},
    {"v_cvt_pk_u16_u32",
     each_lane([](u32 a, u32 b) { return std::min(a, 0xffffU) | std::min(b, 0xffffU) << 16; })},
    {"v_cvt_pk_i16_i32", each_lane([](i32 a, i32 b) {
       return (limited(a, -32768, 32767) & 0xffff) | limited(b, -32768, 32767) << 16;
     })},
    {"v_sat_pk_u8_i16", each_lane([](u32 a) {
       const i32 low = static_cast<i16>(a), high = static_cast<i32>(a) >> 16;
       return limited(low, 0, 255) | limited(high, 0, 255) << 8;
     })},
    {"v_ashr_pk_i8_i32", shift_and_pack<true>()},
    {"v_ashr_pk_u8_i32", shift_and_pack<false>()},
    {"v_prng_b32", each_lane([](u32 a) { return next_random(a); })},
};

}  // namespace

Entries MLA_GFX_PATH::integer_entries() {
  return entries;
}

}  // namespace mla::gfx
