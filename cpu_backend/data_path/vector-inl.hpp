// Vectors of one width and what a data path computes element by element: decoding, exp2, rounding.
//
// Part of the text of a data path, see path-inl.hpp.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu {
namespace MLA_PATH_NAMESPACE {

constexpr std::int64_t kLanes = MLA_PATH_BYTES / 4;

typedef float Vec __attribute__((vector_size(MLA_PATH_BYTES), may_alias));
typedef std::int32_t Int __attribute__((vector_size(MLA_PATH_BYTES), may_alias));
typedef std::uint32_t Bits __attribute__((vector_size(MLA_PATH_BYTES), may_alias));
typedef std::uint16_t Half __attribute__((vector_size(MLA_PATH_BYTES / 2), may_alias, aligned(2)));
typedef std::uint8_t Byte __attribute__((vector_size(MLA_PATH_BYTES / 4), may_alias, aligned(1)));
typedef float Loose __attribute__((vector_size(MLA_PATH_BYTES), may_alias, aligned(4)));

constexpr float kInfinity = __builtin_inff();

static inline Vec splat(float x) {
  return x - Vec{};  // not x + 0, which is another value for -0 and costs an addition
}
static inline Vec load(const float* p) {
  return *reinterpret_cast<const Vec*>(p);
}
static inline void store(float* p, Vec x) {
  *reinterpret_cast<Vec*>(p) = x;
}
static inline Vec as_float(Bits x) {
  return reinterpret_cast<Vec>(x);
}
static inline Vec as_float(Int x) {
  return reinterpret_cast<Vec>(x);
}
static inline Bits as_bits(Vec x) {
  return reinterpret_cast<Bits>(x);
}
// A NaN in `b` is passed over, as the kernels' max does.
static inline Vec larger(Vec a, Vec b) {
  return b > a ? b : a;
}

// 2^x for x <= 0. Round to the nearest integer n with the magic constant, 2^(x-n) by a polynomial
// (S. Moshier's exp2f coefficients, relative error 2^-22.5 with its roundings), 2^n by its
// exponent. Exactly 1 at 0; 0 below -126, where the probability could not be held as a normal
// number.
static inline Vec exp2_of(Vec x) {
  const Vec clamped = x < -126.0F ? splat(-126.0F) : x;
  const Vec magic = splat(12582912.0F);  // 1.5 * 2^23
  const Vec shifted = clamped + magic;
  const Vec f = clamped - (shifted - magic);
  Vec p = splat(1.535336188319500e-4F);
  p = p * f + 1.339887440266574e-3F;
  p = p * f + 9.618437357674640e-3F;
  p = p * f + 5.550332471162809e-2F;
  p = p * f + 2.402264791363012e-1F;
  p = p * f + 6.931472028550421e-1F;
  p = p * f + 1.0F;
  const Bits exponent = as_bits(shifted) << 23;
  const Vec result = as_float(as_bits(p) + exponent);
  return x != x ? x : (x < -126.0F ? Vec{} : result);
}

// Nearest even, on the bits; NaN stays.
static inline Vec round_bf16(Vec x) {
  const Bits b = as_bits(x);
  const Vec rounded = as_float((b + 0x7FFFU + ((b >> 16) & 1U)) & 0xFFFF0000U);
  return x != x ? x : rounded;
}

// Nearest even to 3 bits after the point, for 0 <= x <= 1: adding 2^20 times the binade of x drops
// the other bits. Binades below the smallest normal number share its spacing.
static inline Vec round_e4m3(Vec x, std::uint32_t smallest_normal) {
  const Bits binade = as_bits(x) & 0x7F800000U;
  const Bits least = Bits{} + smallest_normal;
  const Vec magic = as_float((binade > least ? binade : least) + (20U << 23));
  return (x + magic) - magic;
}
constexpr std::uint32_t kSmallestFn = (127U - 6U) << 23;    // 2^-6
constexpr std::uint32_t kSmallestFnuz = (127U - 7U) << 23;  // 2^-7

static inline Vec round_to(ElementKind kind, Vec x) {
  switch (kind) {
    case ElementKind::bf16:
      return round_bf16(x);
    case ElementKind::e4m3fn:
      return round_e4m3(x, kSmallestFn);
    case ElementKind::e4m3fnuz:
      break;
  }
  return round_e4m3(x, kSmallestFnuz);
}

static inline Vec decode_bf16(const std::byte* p) {
  const Half h = *reinterpret_cast<const Half*>(p);
  return as_float(__builtin_convertvector(h, Bits) << 16);
}

// kLanes bytes as integers. Compilers make a dozen instructions of the conversion where one exists.
static inline Int widen_bytes(const std::byte* p) {
#if MLA_PATH_BYTES == 32 && defined(__AVX2__)
  return reinterpret_cast<Int>(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#elif MLA_PATH_BYTES == 64 && defined(__AVX512F__)
  // The unmasked form has GCC 12 warn of an uninitialised value in its own header.
  return reinterpret_cast<Int>(
      _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
  const Half wide = __builtin_convertvector(*reinterpret_cast<const Byte*>(p), Half);
  return __builtin_convertvector(wide, Int);
#endif
}

// Exponent and mantissa move to their place in f32; the difference of the biases is added to the
// exponent. Subnormal codes are rebuilt without f32 subnormals: (1 + m/8) * 2^e - 2^e.
template <ElementKind kKind>
static inline Vec decode_e4m3(const std::byte* p) {
  constexpr bool fn = kKind == ElementKind::e4m3fn;
  constexpr std::int32_t rebias = (fn ? 120 : 119) << 23;
  constexpr std::int32_t step = 1 << 23;  // one binade
  const Int code = widen_bytes(p);
  const Int magnitude = (code << 20) & 0x07F00000;
  const Int lifted = magnitude + (rebias + step);
  const Vec subnormal = as_float(lifted) - as_float(Int{} + (rebias + step));
  const Vec value = magnitude < step ? subnormal : as_float(lifted - step);
  const Int sign = (code << 24) & INT32_MIN;
  const Int nan = fn ? magnitude == 0x07F00000 : code == 0x80;  // all bits set: a NaN as well
  return as_float(reinterpret_cast<Int>(value) | sign | nan);
}

// g++ has __builtin_shufflevector from version 12 on, and __builtin_shuffle, which clang lacks.
template <int... kFrom>
static inline Vec pick(Vec a, Vec b) {
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, kFrom...);
#else
  return __builtin_shuffle(a, b, Int{kFrom...});
#endif
}

template <int kHalf, int... kLane>
static inline void swap_halves(Vec& a, Vec& b, std::integer_sequence<int, kLane...>) {
  constexpr int n = static_cast<int>(kLanes);
  const Vec low = pick<((kLane & kHalf) ? n + kLane - kHalf : kLane)...>(a, b);
  b = pick<((kLane & kHalf) ? n + kLane : kLane + kHalf)...>(a, b);
  a = low;
}

// Transposes a square of vectors: blocks off the diagonal change places, from large to small.
template <int kHalf = static_cast<int>(kLanes) / 2>
static inline void transpose(Vec (&x)[kLanes]) {
  for (int i = 0; i < kLanes; ++i)
    if ((i & kHalf) == 0)
      swap_halves<kHalf>(x[i], x[i + kHalf],
                         std::make_integer_sequence<int, static_cast<int>(kLanes)>{});
  if constexpr (kHalf > 1) transpose<kHalf / 2>(x);
}

template <ElementKind kKind>
static inline Vec decode_vec(const std::byte* row, std::int64_t d) {
  if constexpr (kKind == ElementKind::bf16)
    return decode_bf16(row + 2 * d);
  else
    return decode_e4m3<kKind>(row + d);
}

// Calls f with the kind as a template argument, so that loops inside f need no branch.
template <class F>
static inline void with_kind(ElementKind kind, F f) {
  switch (kind) {
    case ElementKind::bf16:
      return f.template operator()<ElementKind::bf16>();
    case ElementKind::e4m3fn:
      return f.template operator()<ElementKind::e4m3fn>();
    case ElementKind::e4m3fnuz:
      return f.template operator()<ElementKind::e4m3fnuz>();
  }
}

template <ElementKind kKind>
static inline void decode_row(const std::byte* bits, float* values, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes)
    *reinterpret_cast<Loose*>(values + i) = decode_vec<kKind>(bits, i);
}

}  // namespace MLA_PATH_NAMESPACE
}  // namespace mla::cpu
