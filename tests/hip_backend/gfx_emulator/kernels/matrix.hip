// Every dense matrix instruction: the registers of each lane come in as they are and go out as they
// are, so that the host decides what they mean.
#include "device.hpp"

#define VECTOR(name, type, count) using name = type __attribute__((ext_vector_type(count)))
VECTOR(f2, float, 2);
VECTOR(f4, float, 4);
VECTOR(f16_, float, 16);
VECTOR(f32_, float, 32);
VECTOR(i4, int, 4);
VECTOR(i8_, int, 8);
VECTOR(i16_, int, 16);
VECTOR(i32_, int, 32);
VECTOR(d4, double, 4);
VECTOR(h4, _Float16, 4);
VECTOR(h8, _Float16, 8);
VECTOR(s4, short, 4);
VECTOR(b8, __bf16, 8);

// A workgroup multiplies its own A and B into its own D; all have the same C.
#define MATRIX(name, AB, CD, builtin)                             \
  KERNEL(64) name(const AB* a, const AB* b, const CD* c, CD* d) { \
    const u32 n = group() * 64 + thread();                        \
    d[n] = builtin(a[n], b[n], c[thread()], 0, 0, 0);             \
  }

MATRIX(f32_32x32x1_2b, float, f32_, __builtin_amdgcn_mfma_f32_32x32x1f32)
MATRIX(f32_16x16x1_4b, float, f16_, __builtin_amdgcn_mfma_f32_16x16x1f32)
MATRIX(f32_4x4x1_16b, float, f4, __builtin_amdgcn_mfma_f32_4x4x1f32)
MATRIX(f32_32x32x2, float, f16_, __builtin_amdgcn_mfma_f32_32x32x2f32)
MATRIX(f32_16x16x4, float, f4, __builtin_amdgcn_mfma_f32_16x16x4f32)
MATRIX(f16_32x32x4_2b, h4, f32_, __builtin_amdgcn_mfma_f32_32x32x4f16)
MATRIX(f16_16x16x4_4b, h4, f16_, __builtin_amdgcn_mfma_f32_16x16x4f16)
MATRIX(f16_4x4x4_16b, h4, f4, __builtin_amdgcn_mfma_f32_4x4x4f16)
MATRIX(f16_32x32x8, h4, f16_, __builtin_amdgcn_mfma_f32_32x32x8f16)
MATRIX(f16_16x16x16, h4, f4, __builtin_amdgcn_mfma_f32_16x16x16f16)
MATRIX(bf16_32x32x4_2b, s4, f32_, __builtin_amdgcn_mfma_f32_32x32x4bf16_1k)
MATRIX(bf16_16x16x4_4b, s4, f16_, __builtin_amdgcn_mfma_f32_16x16x4bf16_1k)
MATRIX(bf16_4x4x4_16b, s4, f4, __builtin_amdgcn_mfma_f32_4x4x4bf16_1k)
MATRIX(bf16_32x32x8, s4, f16_, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
MATRIX(bf16_16x16x16, s4, f4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
MATRIX(i8_32x32x4_2b, int, i32_, __builtin_amdgcn_mfma_i32_32x32x4i8)
MATRIX(i8_16x16x4_4b, int, i16_, __builtin_amdgcn_mfma_i32_16x16x4i8)
MATRIX(i8_4x4x4_16b, int, i4, __builtin_amdgcn_mfma_i32_4x4x4i8)
MATRIX(i8_32x32x16, long, i16_, __builtin_amdgcn_mfma_i32_32x32x16_i8)
MATRIX(i8_16x16x32, long, i4, __builtin_amdgcn_mfma_i32_16x16x32_i8)
MATRIX(fp8_fp8_16x16x32, long, f4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
MATRIX(fp8_bf8_16x16x32, long, f4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8)
MATRIX(bf8_fp8_16x16x32, long, f4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8)
MATRIX(bf8_bf8_16x16x32, long, f4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8)
MATRIX(fp8_fp8_32x32x16, long, f16_, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
MATRIX(fp8_bf8_32x32x16, long, f16_, __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8)
MATRIX(bf8_fp8_32x32x16, long, f16_, __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8)
MATRIX(bf8_bf8_32x32x16, long, f16_, __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8)
MATRIX(f64_16x16x4, double, d4, __builtin_amdgcn_mfma_f64_16x16x4f64)
MATRIX(f64_4x4x4_4b, double, double, __builtin_amdgcn_mfma_f64_4x4x4f64)

#if defined(__gfx942__)
MATRIX(xf32_16x16x8, f2, f4, __builtin_amdgcn_mfma_f32_16x16x8_xf32)
MATRIX(xf32_32x32x4, f2, f16_, __builtin_amdgcn_mfma_f32_32x32x4_xf32)
#endif

// One block of A serves four: broadcast of block 2.
KERNEL(64) f16_16x16x4_4b_broadcast(const h4* a, const h4* b, const f16_* c, f16_* d) {
  d[thread()] =
      __builtin_amdgcn_mfma_f32_16x16x4f16(a[thread()], b[thread()], c[thread()], 2, 2, 0);
}

#if defined(__gfx950__)
MATRIX(f16_16x16x32, h8, f4, __builtin_amdgcn_mfma_f32_16x16x32_f16)
MATRIX(f16_32x32x16, h8, f16_, __builtin_amdgcn_mfma_f32_32x32x16_f16)
MATRIX(bf16_16x16x32, b8, f4, __builtin_amdgcn_mfma_f32_16x16x32_bf16)
MATRIX(bf16_32x32x16, b8, f16_, __builtin_amdgcn_mfma_f32_32x32x16_bf16)
MATRIX(i8_16x16x64, i4, i4, __builtin_amdgcn_mfma_i32_16x16x64_i8)
MATRIX(i8_32x32x32, i4, i16_, __builtin_amdgcn_mfma_i32_32x32x32_i8)

#define SCALED(name, CD, builtin, format_a, format_b)                                   \
  KERNEL(64) name(const i8_* a, const i8_* b, const CD* c, CD* d, const int* scales) {  \
    const u32 n = group() * 64 + thread();                                              \
    d[n] = builtin(a[n], b[n], c[thread()], format_a, format_b, 1, scales[thread()], 2, \
                   scales[64 + thread()]);                                              \
  }
SCALED(fp8_16x16x128, f4, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4, 0, 0)
SCALED(bf8_fp8_16x16x128, f4, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4, 1, 0)
SCALED(fp8_32x32x64, f16_, __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4, 0, 0)
SCALED(fp6_bf6_16x16x128, f4, __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4, 2, 3)
SCALED(fp4_fp8_32x32x64, f16_, __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4, 4, 0)
#endif
