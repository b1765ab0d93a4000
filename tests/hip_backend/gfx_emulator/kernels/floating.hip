#include "float_ops.hpp"

KERNEL(256) floating(const float* in, u32* out) {
  const u32 n = group() * 256 + thread();
  float_ops(in[3 * n], in[3 * n + 1], in[3 * n + 2], out + n * float_results);
}

KERNEL(256) floating_double(const double* in, u64* out) {
  const u32 n = group() * 256 + thread();
  double_ops(in[3 * n], in[3 * n + 1], in[3 * n + 2], out + n * double_results);
}

KERNEL(256) floating_half(const _Float16* in, u16* out) {
  const u32 n = group() * 256 + thread();
  half_ops(in[3 * n], in[3 * n + 1], in[3 * n + 2], out + n * half_results);
}

// Two halves at a time: packed arithmetic.
using half2 = _Float16 __attribute__((ext_vector_type(2)));
KERNEL(256) floating_packed(const half2* in, half2* out) {
  const u32 n = group() * 256 + thread();
  const half2 a = in[3 * n], b = in[3 * n + 1], c = in[3 * n + 2];
  out[4 * n] = a + b;
  out[4 * n + 1] = a * b;
  out[4 * n + 2] = a - c;
  out[4 * n + 3] = half2{a.y, a.x} * b;
}

KERNEL(256) floating_quotients(const float* in, float* out) {
  const u32 n = group() * 256 + thread();
  out[n] = in[2 * n] / in[2 * n + 1];
}
KERNEL(256) floating_quotients_double(const double* in, double* out) {
  const u32 n = group() * 256 + thread();
  out[n] = in[2 * n] / in[2 * n + 1];
}

// What the hardware only promises to one unit in the last place.
KERNEL(256) floating_special(const float* in, float* out) {
  const u32 n = group() * 256 + thread();
  const float a = in[n];
  out[6 * n] = __builtin_amdgcn_exp2f(a);
  out[6 * n + 1] = __builtin_amdgcn_logf(__builtin_fabsf(a));
  out[6 * n + 2] = __builtin_amdgcn_rcpf(a);
  out[6 * n + 3] = __builtin_amdgcn_rsqf(__builtin_fabsf(a));
  out[6 * n + 4] = __builtin_amdgcn_sinf(a);
  out[6 * n + 5] = __builtin_amdgcn_fractf(a);
}

using float2 = float __attribute__((ext_vector_type(2)));
KERNEL(256) floating_pairs(const float2* in, float2* out) {
  const u32 n = group() * 256 + thread();
  const float2 a = in[3 * n], b = in[3 * n + 1], c = in[3 * n + 2];
  out[3 * n] = a * b;
  out[3 * n + 1] = a + b;
  out[3 * n + 2] = __builtin_elementwise_fma(a, b, c);
}
