// Integers bit by bit, and numbers seen as other numbers.
#pragma once

#include "rounding.h"

__device__ inline int __popc(unsigned value) {
  return __builtin_popcount(value);
}
__device__ inline int __popcll(unsigned long long value) {
  return __builtin_popcountll(value);
}
__device__ inline int __clz(int value) {
  return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value));
}
__device__ inline int __clzll(long long value) {
  return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value));
}
__device__ inline int __ffs(int value) {
  return __builtin_ffs(value);
}
__device__ inline int __ffs(unsigned value) {
  return __builtin_ffs(static_cast<int>(value));
}
__device__ inline int __ffsll(long long value) {
  return __builtin_ffsll(value);
}
__device__ inline int __ffsll(unsigned long long value) {
  return __builtin_ffsll(static_cast<long long>(value));
}
__device__ inline unsigned __brev(unsigned value) {
  return __builtin_bitreverse32(value);
}
__device__ inline unsigned long long __brevll(unsigned long long value) {
  return __builtin_bitreverse64(value);
}
// Four of the eight bytes of (high, low), a digit of `selector` each.
__device__ inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  unsigned out = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned byte = selector >> (4 * k) & 7;
    const unsigned from = byte < 4 ? low : high;
    out |= (from >> (8 * (byte & 3)) & 0xff) << (8 * k);
  }
  return out;
}
// The pair (high, low), shifted by 0 to 31 bits; `c` stops at 32.
__device__ inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? high : high << shift | low >> (32 - shift);
}
__device__ inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
__device__ inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  shift &= 31;
  return shift == 0 ? low : low >> shift | high << (32 - shift);
}
__device__ inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
// `count` bits from bit `from` on, and what replaces them.
__device__ inline unsigned __bitextract_u32(unsigned value, unsigned from, unsigned count) {
  return static_cast<unsigned>(value >> (from & 31) & ((1ULL << (count & 31)) - 1));
}
__device__ inline unsigned __bitinsert_u32(unsigned value, unsigned of, unsigned from,
                                           unsigned count) {
  const auto mask = static_cast<unsigned>(((1ULL << (count & 31)) - 1) << (from & 31));
  return (value & ~mask) | (of << (from & 31) & mask);
}
__device__ inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a << 8 >> 8) * static_cast<unsigned>(b << 8 >> 8));
}
__device__ inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xffffff) * (b & 0xffffff);
}
__device__ inline int __mulhi(int a, int b) {
  return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
__device__ inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
__device__ inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
__device__ inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
__device__ inline unsigned __sad(int a, int b, unsigned sum) {
  const auto x = static_cast<unsigned>(a), y = static_cast<unsigned>(b);
  return (a > b ? x - y : y - x) + sum;
}
__device__ inline unsigned __usad(unsigned a, unsigned b, unsigned sum) {
  return (a > b ? a - b : b - a) + sum;
}
__device__ inline int __hadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
__device__ inline int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
__device__ inline unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
__device__ inline unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
// The product of four bytes each, and a sum.
__device__ inline int __dp4a(int a, int b, int sum) {
  for (int k = 0; k < 32; k += 8)
    sum += static_cast<signed char>(a >> k) * static_cast<signed char>(b >> k);
  return sum;
}
__device__ inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int k = 0; k < 32; k += 8) sum += (a >> k & 0xff) * (b >> k & 0xff);
  return sum;
}

#define MLA_SEEN_AS(name, to, from)       \
  __device__ inline to name(from value) { \
    return __builtin_bit_cast(to, value); \
  }
MLA_SEEN_AS(__float_as_int, int, float)
MLA_SEEN_AS(__float_as_uint, unsigned, float)
MLA_SEEN_AS(__int_as_float, float, int)
MLA_SEEN_AS(__uint_as_float, float, unsigned)
MLA_SEEN_AS(__double_as_longlong, long long, double)
MLA_SEEN_AS(__longlong_as_double, double, long long)
#undef MLA_SEEN_AS
__device__ inline int __double2hiint(double value) {
  return static_cast<int>(__double_as_longlong(value) >> 32);
}
__device__ inline int __double2loint(double value) {
  return static_cast<int>(__double_as_longlong(value));
}
__device__ inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

// A float or double to an integer: down, to the nearest, up and to zero, kept in its range.
#define MLA_TO_INTEGER(from, name, to)                          \
  __device__ inline to __##from##2##name##_rd(from value) {     \
    return static_cast<to>(__builtin_elementwise_floor(value)); \
  }                                                             \
  __device__ inline to __##from##2##name##_rn(from value) {     \
    return static_cast<to>(__builtin_elementwise_rint(value));  \
  }                                                             \
  __device__ inline to __##from##2##name##_ru(from value) {     \
    return static_cast<to>(__builtin_elementwise_ceil(value));  \
  }                                                             \
  __device__ inline to __##from##2##name##_rz(from value) {     \
    return static_cast<to>(value);                              \
  }
MLA_TO_INTEGER(float, int, int)
MLA_TO_INTEGER(float, uint, unsigned)
MLA_TO_INTEGER(float, ll, long long)
MLA_TO_INTEGER(float, ull, unsigned long long)
MLA_TO_INTEGER(double, int, int)
MLA_TO_INTEGER(double, uint, unsigned)
MLA_TO_INTEGER(double, ll, long long)
MLA_TO_INTEGER(double, ull, unsigned long long)
#undef MLA_TO_INTEGER
// To a float or double: to the nearest, down, up and to zero.
#define MLA_TO_FLOATING(name, from, to, directed)                    \
  __device__ inline to name##_rn(from value) {                       \
    return static_cast<to>(value);                                   \
  }                                                                  \
  __device__ inline to name##_rd(from value) {                       \
    return mla_hip::directed<to>(value, mla_hip::Rounding::down);    \
  }                                                                  \
  __device__ inline to name##_ru(from value) {                       \
    return mla_hip::directed<to>(value, mla_hip::Rounding::up);      \
  }                                                                  \
  __device__ inline to name##_rz(from value) {                       \
    return mla_hip::directed<to>(value, mla_hip::Rounding::to_zero); \
  }
MLA_TO_FLOATING(__int2float, int, float, of_integer)
MLA_TO_FLOATING(__uint2float, unsigned, float, of_integer)
MLA_TO_FLOATING(__ll2float, long long, float, of_integer)
MLA_TO_FLOATING(__ull2float, unsigned long long, float, of_integer)
MLA_TO_FLOATING(__int2double, int, double, of_integer)
MLA_TO_FLOATING(__uint2double, unsigned, double, of_integer)
MLA_TO_FLOATING(__ll2double, long long, double, of_integer)
MLA_TO_FLOATING(__ull2double, unsigned long long, double, of_integer)
MLA_TO_FLOATING(__double2float, double, float, narrowed)
#undef MLA_TO_FLOATING
