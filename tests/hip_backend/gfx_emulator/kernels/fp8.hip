// 8-bit floats: what the hardware's conversions make of every byte and of many numbers.
#include "device.hpp"

KERNEL(256) decode(float* out) {
  const int byte = (int)thread();
  const int word = byte | byte << 8 | byte << 16 | byte << 24;
  out[thread() * 6] = __builtin_amdgcn_cvt_f32_fp8(word, 0);
  out[thread() * 6 + 1] = __builtin_amdgcn_cvt_f32_fp8((word & ~0xff0000) | byte << 16, 2);
  out[thread() * 6 + 2] = __builtin_amdgcn_cvt_f32_bf8(word, 1);
  const auto high = __builtin_amdgcn_cvt_pk_f32_fp8(byte << 16, true);
  out[thread() * 6 + 3] = high[0];
  out[thread() * 6 + 4] = high[1];
  out[thread() * 6 + 5] = __builtin_amdgcn_cvt_pk_f32_bf8(byte << 8, false)[1];
}

KERNEL(256) encode(const float* in, u32* out) {
  const u32 n = group() * 256 + thread();
  const float a = in[2 * n], b = in[2 * n + 1];
  int word = __builtin_amdgcn_cvt_pk_fp8_f32(a, b, 0x12345678, false);
  out[4 * n] = (u32)word;
  out[4 * n + 1] = (u32)__builtin_amdgcn_cvt_pk_fp8_f32(b, a, word, true);
  out[4 * n + 2] = (u32)__builtin_amdgcn_cvt_pk_bf8_f32(a, b, 0, false);
  // With zero as the random number a stochastic conversion rounds towards zero.
  out[4 * n + 3] = (u32)__builtin_amdgcn_cvt_sr_fp8_f32(a, 0, 0, 2);
}
