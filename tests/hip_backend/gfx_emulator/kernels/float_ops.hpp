// Floating point arithmetic whose result IEEE 754 settles, for the device and for the host.
#pragma once

#include "device.hpp"

constexpr int float_results = 24, double_results = 20, half_results = 16;

SHARED u32 bits32(float a) {
  return __builtin_bit_cast(u32, a);
}
SHARED u64 bits64(double a) {
  return __builtin_bit_cast(u64, a);
}

SHARED void float_ops(float a, float b, float c, u32* out) {
  out[0] = bits32(a + b);
  out[1] = bits32(a - b);
  out[2] = bits32(a * b);
  out[3] = bits32(__builtin_fmaf(a, b, c));
  out[4] = bits32(a / b);
  out[5] = bits32(__builtin_sqrtf(a < 0 ? -a : a));
  out[6] = bits32(__builtin_floorf(a));
  out[7] = bits32(__builtin_ceilf(a));
  out[8] = bits32(__builtin_truncf(a));
  out[9] = bits32(__builtin_rintf(a));
  out[10] = bits32(a < b ? a : b);
  out[11] = bits32(a > b ? c : -a);
  out[12] = a == b ? 1 : a != b ? 2 : 3;
  out[13] = (u32)(a >= -2e9f && a <= 2e9f ? (i32)a : 0);
  out[14] = (u32)(a >= 0 && a <= 4e9f ? (u32)a : 0);
  out[15] = bits32((float)(i32)bits32(a));
  out[16] = bits32((float)bits32(b));
  out[17] = bits32(__builtin_fabsf(a) * -b);
  out[18] = bits32((float)(i64)(bits32(a) * (u64)bits32(b)));
  out[19] = bits32(__builtin_copysignf(a, b));
  out[20] = bits32((a + 1.0f) * 0.5f - c);
  out[21] = (!(a < b) ? 1 : 0) | (!(a >= c) ? 2 : 0) | (a <= b ? 4 : 0) | (b != b ? 8 : 0);
  out[22] = bits32((float)(u8)bits32(a) + (float)(u8)(bits32(b) >> 8));
  out[23] = bits32(__builtin_fmaf(a, -b, __builtin_fabsf(c)));
}

SHARED void double_ops(double a, double b, double c, u64* out) {
  out[0] = bits64(a + b);
  out[1] = bits64(a - b);
  out[2] = bits64(a * b);
  out[3] = bits64(__builtin_fma(a, b, c));
  out[4] = bits64(a / b);
  out[5] = bits64(__builtin_sqrt(a < 0 ? -a : a));
  out[6] = bits64(__builtin_floor(a));
  out[7] = bits64(__builtin_ceil(a));
  out[8] = bits64(__builtin_trunc(a));
  out[9] = bits64(__builtin_rint(a));
  out[10] = bits64(a < b ? a : b);
  out[11] = a == b ? 1 : a <= b ? 2 : 3;
  out[12] = (u64)(a >= -2e9 && a <= 2e9 ? (i32)a : 0);
  out[13] = (u64)(a >= 0 && a <= 4e9 ? (u32)a : 0);
  out[14] = bits64((double)(i32)bits64(a));
  out[15] = bits64((double)bits64(b));
  out[16] = bits32((float)a);
  out[17] = bits64((double)(float)b);
  out[18] = (u64)(a >= -9e18 && a <= 9e18 ? (i64)a : 0);
  out[19] = bits64(__builtin_fabs(a) * -b + c);
}

SHARED u16 bits16(_Float16 a) {
  return __builtin_bit_cast(u16, a);
}

SHARED void half_ops(_Float16 a, _Float16 b, _Float16 c, u16* out) {
  out[0] = bits16(a + b);
  out[1] = bits16(a - b);
  out[2] = bits16(a * b);
  out[3] = bits16(a / b);
  out[4] = bits16((_Float16)(float)a);
  out[5] = a < b ? 1 : a == b ? 2 : 3;
  out[6] = bits16(a < b ? a : b);
  out[7] = bits16(-a);
  out[8] = bits16((_Float16)((float)a * (float)b + 0.0f));
  out[9] = bits16((_Float16)(i16)bits16(c));
  out[10] = bits16((_Float16)bits16(b));
  out[11] = bits16((_Float16)__builtin_floorf((float)a));
  out[12] = bits16((_Float16)((float)a * 1024.0f + (float)c));
  out[13] = (u16)((float)a > -30000.0f && (float)a < 30000.0f ? (i16)(float)a : 0);
  out[14] = (u16)(bits16(a) * bits16(b) + bits16(c));
  out[15] = (u16)(bits16(a) >> (bits16(b) & 15));
}
