// Matrix instructions with a use right behind them, between which the compiler puts s_nop.
#include "device.hpp"

#define VECTOR(type, n) type __attribute__((ext_vector_type(n)))
using f2 = VECTOR(float, 2);
using f4 = VECTOR(float, 4);
using f16 = VECTOR(float, 16);
using f32 = VECTOR(float, 32);
using d4 = VECTOR(double, 4);
using h4 = VECTOR(_Float16, 4);
using h8 = VECTOR(_Float16, 8);
using h16 = VECTOR(_Float16, 16);
using n4 = VECTOR(int, 4);
using n8 = VECTOR(int, 8);
using n16 = VECTOR(int, 16);

// The result is stored; or computed with, after a factor that was computed; or is the addend of the
// next product and a part of it.
#define PRODUCT(name, A, B, C, ...)                           \
  KERNEL(64) stored_##name(const A* a, const B* b, C* c) {    \
    const A x = a[thread()];                                  \
    const B y = b[thread()];                                  \
    const C z = c[thread()];                                  \
    c[thread()] = __VA_ARGS__;                                \
  }                                                           \
  KERNEL(64) computed_##name(const A* a, const B* b, C* c) {  \
    const A x = a[thread()] + a[thread() + 64];               \
    const B y = b[thread()];                                  \
    C z = c[thread()];                                        \
    z = __VA_ARGS__;                                          \
    c[thread()] = z + z;                                      \
  }                                                           \
  KERNEL(64) continued_##name(const A* a, const B* b, C* c) { \
    const A x = a[thread()];                                  \
    const B y = b[thread()];                                  \
    C z = c[thread()];                                        \
    z = __VA_ARGS__;                                          \
    z = __VA_ARGS__;                                          \
    c[thread()] = z;                                          \
  }
#define MATRIX(name) __builtin_amdgcn_mfma_##name(x, y, z, 0, 0, 0)
#define SPARSE(name) __builtin_amdgcn_smfmac_##name(x, y, z, 7, 0, 0)

PRODUCT(two_passes, h4, h4, f4, MATRIX(f32_4x4x4f16))
PRODUCT(four_passes, h4, h4, f4, MATRIX(f32_16x16x16f16))
PRODUCT(eight_passes, h4, h4, f16, MATRIX(f32_32x32x8f16))
PRODUCT(eight_passes_of_blocks, h4, h4, f16, MATRIX(f32_16x16x4f16))
PRODUCT(sixteen_passes, h4, h4, f32, MATRIX(f32_32x32x4f16))
PRODUCT(plain_two_passes, float, float, f4, MATRIX(f32_4x4x1f32))
PRODUCT(plain_eight_passes, float, float, f4, MATRIX(f32_16x16x4f32))
PRODUCT(plain_sixteen_passes, float, float, f16, MATRIX(f32_32x32x2f32))
PRODUCT(wide_small, double, double, double, MATRIX(f64_4x4x4f64))
PRODUCT(wide_large, double, double, d4, MATRIX(f64_16x16x4f64))
PRODUCT(bytes, long, long, n4, MATRIX(i32_16x16x32_i8))
PRODUCT(large_bytes, long, long, n16, MATRIX(i32_32x32x16_i8))
PRODUCT(small_floats, long, long, f4, MATRIX(f32_16x16x32_fp8_fp8))
PRODUCT(sparse, h4, h8, f4, SPARSE(f32_16x16x32_f16))
PRODUCT(large_sparse, h4, h8, f16, SPARSE(f32_32x32x16_f16))
#if defined(__gfx942__)
PRODUCT(short_floats, f2, f2, f4, MATRIX(f32_16x16x8_xf32))
PRODUCT(large_short_floats, f2, f2, f16, MATRIX(f32_32x32x4_xf32))
#else
#define SCALED(name, format) \
  __builtin_amdgcn_mfma_scale_##name(x, y, z, format, format, 0, 127, 0, 127)
PRODUCT(deep, h8, h8, f4, MATRIX(f32_16x16x32_f16))
PRODUCT(large_deep, h8, h8, f16, MATRIX(f32_32x32x16_f16))
PRODUCT(deep_bytes, n4, n4, n4, MATRIX(i32_16x16x64_i8))
PRODUCT(large_deep_bytes, n4, n4, n16, MATRIX(i32_32x32x32_i8))
PRODUCT(deep_sparse, h8, h16, f4, SPARSE(f32_16x16x64_f16))
PRODUCT(large_deep_sparse, h8, h16, f16, SPARSE(f32_32x32x32_f16))
PRODUCT(eight_bits, n8, n8, f4, SCALED(f32_16x16x128_f8f6f4, 0))
PRODUCT(large_eight_bits, n8, n8, f16, SCALED(f32_32x32x64_f8f6f4, 0))
PRODUCT(four_bits, n8, n8, f4, SCALED(f32_16x16x128_f8f6f4, 4))
PRODUCT(large_four_bits, n8, n8, f16, SCALED(f32_32x32x64_f8f6f4, 4))
#endif

// A part of the result is a factor, or the addend begins inside of it.
KERNEL(64) factor(const h4* a, const h4* b, f4* c) {
  const f4 z =
      __builtin_amdgcn_mfma_f32_16x16x16f16(a[thread()], b[thread()], c[thread()], 0, 0, 0);
  const h4 again = __builtin_bit_cast(h4, f2{z.x, z.y});
  c[thread()] = __builtin_amdgcn_mfma_f32_16x16x16f16(again, b[thread()], c[thread()], 0, 0, 0);
}
