// Integer arithmetic, the same text for the device and for the host that judges it.
#pragma once

#include "device.hpp"

constexpr int integer_results = 48;

SHARED u32 rotate(u32 a, u32 by) {
  return by % 32 == 0 ? a : a << by % 32 | a >> (32 - by % 32);
}
SHARED u32 swap_bytes(u32 a) {
  return a >> 24 | (a >> 8 & 0xff00) | (a << 8 & 0xff0000) | a << 24;
}
SHARED u32 limited_add(u32 a, u32 b) {
  return a + b < a ? ~0u : a + b;
}
SHARED u32 limited_sub(u32 a, u32 b) {
  return a < b ? 0 : a - b;
}
SHARED i32 least(i32 a, i32 b) {
  return a < b ? a : b;
}
SHARED i32 most(i32 a, i32 b) {
  return a > b ? a : b;
}

SHARED void integer_ops_32(u32 a, u32 b, u32 c, u64* out) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = (u64)a * b >> 32;
  out[4] = (u32)((i64)(i32)a * (i32)b >> 32);
  out[5] = a << (b & 31);
  out[6] = a >> (b & 31);
  out[7] = (u32)((i32)a >> (b & 31));
  out[8] = b == 0 ? 0 : a / b;
  out[9] = b == 0 ? 0 : a % b;
  out[10] = b == 0 || (a == 0x80000000 && b == ~0u) ? 0 : (u32)((i32)a / (i32)b);
  out[11] = b == 0 || (a == 0x80000000 && b == ~0u) ? 0 : (u32)((i32)a % (i32)b);
  out[12] = (a & b) | (~a & c);
  out[13] = a ^ b ^ c;
  out[14] = (u32)least(most((i32)a, (i32)b), (i32)c);
  out[15] = a < b ? a : b;
  out[16] = __builtin_popcount(a);
  out[17] = a == 0 ? 32 : __builtin_clz(a);
  out[18] = a == 0 ? 32 : __builtin_ctz(a);
  out[19] = rotate(a, b);
  out[20] = swap_bytes(a);
  out[21] = limited_add(a, b);
  out[22] = limited_sub(a, b);
  out[23] = (a & 0xffffff) * (b & 0xffffff) + c;
  out[24] = (a >> (c & 15)) & 0x3ff;
  out[25] = (u32)((i32)(a << 7) >> 20);
  out[26] = (u8)(a + b) | (u16)(a * b) << 8;
  out[27] = (u32)(i8)a + (u32)(i16)b;
}

SHARED void integer_ops_64(u64 a, u64 b, u32 c, u64* out) {
  out[0] = a + b;
  out[1] = a - b;
  out[2] = a * b;
  out[3] = a << (c & 63);
  out[4] = a >> (c & 63);
  out[5] = (u64)((i64)a >> (c & 63));
  out[6] = b == 0 ? 0 : a / b;
  out[7] = b == 0 ? 0 : a % b;
  out[8] = (u32)b == 0 ? 0 : a / (u32)b;
  out[9] = (i64)b <= 0 ? 0 : (u64)((i64)a / (i64)b);
  out[10] = __builtin_popcountll(a);
  out[11] = a == 0 ? 64 : __builtin_clzll(a);
  out[12] = a == 0 ? 64 : __builtin_ctzll(a);
  out[13] = (i64)a < (i64)b ? a : b;
  out[14] = a < b ? 1 : a == b ? 2 : 3;
  out[15] = (a & ~b) | (b ^ 0x0123456789abcdef);
  out[16] = ((u64)(u32)a * (u32)b) + a;
  out[17] = (u64)((i64)(i32)a * (i32)b) + b;  // the sum wraps
  out[18] = ((a << 3) + b) ^ ((a >> 32) | (b << 32));
}

SHARED void integer_ops(u64 a, u64 b, u32 c, u64* out) {
  integer_ops_32((u32)a, (u32)b, c, out);
  integer_ops_64(a, b, c, out + 28);
  out[47] = (u32)a ^ ((u32)b & ~c);
}
