// __hip_bfloat16 and __hip_bfloat162: the upper half of a float, rounded to nearest even.
// Arithmetic is that of float, rounded after each operation.
#pragma once

#include <hip/hip_runtime.h>

#if !defined(__HIP__)
#error "hip_bf16.h needs clang -x hip"
#endif

#define MLA_BF16 __host__ __device__ inline

struct __hip_bfloat16_raw {
  unsigned short x;
};

struct __hip_bfloat16 {
 protected:
  unsigned short __x;

 public:
  __hip_bfloat16() = default;
  __host__ __device__ constexpr __hip_bfloat16(__hip_bfloat16_raw raw) : __x(raw.x) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  __host__ __device__ constexpr __hip_bfloat16(T value) : __x(rounded(static_cast<float>(value))) {}
  __host__ __device__ constexpr operator float() const {
    return __builtin_bit_cast(float, static_cast<unsigned>(__x) << 16);
  }
  __host__ __device__ constexpr operator __hip_bfloat16_raw() const { return {__x}; }

 private:
  __host__ __device__ static constexpr unsigned short rounded(float value) {
    const auto bits = __builtin_bit_cast(unsigned, value);
    if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<unsigned short>(bits >> 16 | 0x40);
    return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

#define MLA_OPERATOR(symbol)                                                          \
  MLA_BF16 __hip_bfloat16 operator symbol(__hip_bfloat16 a, __hip_bfloat16 b) {       \
    return static_cast<float>(a) symbol static_cast<float>(b);                        \
  }                                                                                   \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>               \
  MLA_BF16 __hip_bfloat16 operator symbol(__hip_bfloat16 a, T b) {                    \
    return a symbol __hip_bfloat16(b);                                                \
  }                                                                                   \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>               \
  MLA_BF16 __hip_bfloat16 operator symbol(T a, __hip_bfloat16 b) {                    \
    return __hip_bfloat16(a) symbol b;                                                \
  }                                                                                   \
  MLA_BF16 __hip_bfloat16& operator symbol##=(__hip_bfloat16 & a, __hip_bfloat16 b) { \
    return a = a symbol b;                                                            \
  }
MLA_OPERATOR(+)
MLA_OPERATOR(-)
MLA_OPERATOR(*)
MLA_OPERATOR(/)
#undef MLA_OPERATOR
#define MLA_COMPARE(symbol)                                             \
  MLA_BF16 bool operator symbol(__hip_bfloat16 a, __hip_bfloat16 b) {   \
    return static_cast<float>(a) symbol static_cast<float>(b);          \
  }                                                                     \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> \
  MLA_BF16 bool operator symbol(__hip_bfloat16 a, T b) {                \
    return static_cast<float>(a) symbol static_cast<float>(b);          \
  }
MLA_COMPARE(==)
MLA_COMPARE(!=)
MLA_COMPARE(<)
MLA_COMPARE(<=)
MLA_COMPARE(>)
MLA_COMPARE(>=)
#undef MLA_COMPARE

MLA_BF16 unsigned short __bfloat16_as_ushort(__hip_bfloat16 value) {
  return __builtin_bit_cast(unsigned short, value);
}
MLA_BF16 short __bfloat16_as_short(__hip_bfloat16 v) {
  return __builtin_bit_cast(short, v);
}
MLA_BF16 __hip_bfloat16 __ushort_as_bfloat16(unsigned short value) {
  return __builtin_bit_cast(__hip_bfloat16, value);
}
MLA_BF16 __hip_bfloat16 __short_as_bfloat16(short value) {
  return __builtin_bit_cast(__hip_bfloat16, value);
}
MLA_BF16 __hip_bfloat16 operator-(__hip_bfloat16 a) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(__bfloat16_as_ushort(a) ^ 0x8000));
}

struct __hip_bfloat162 {
  __hip_bfloat16 x, y;
} __attribute__((aligned(4)));

#define MLA_OPERATOR(symbol)                                                             \
  MLA_BF16 __hip_bfloat162 operator symbol(__hip_bfloat162 a, __hip_bfloat162 b) {       \
    return {a.x symbol b.x, a.y symbol b.y};                                             \
  }                                                                                      \
  MLA_BF16 __hip_bfloat162& operator symbol##=(__hip_bfloat162 & a, __hip_bfloat162 b) { \
    return a = a symbol b;                                                               \
  }
MLA_OPERATOR(+)
MLA_OPERATOR(-)
MLA_OPERATOR(*)
MLA_OPERATOR(/)
#undef MLA_OPERATOR
MLA_BF16 bool operator==(__hip_bfloat162 a, __hip_bfloat162 b) {
  return a.x == b.x && a.y == b.y;
}
MLA_BF16 bool operator!=(__hip_bfloat162 a, __hip_bfloat162 b) {
  return !(a == b);
}

MLA_BF16 __hip_bfloat16 __float2bfloat16(float value) {
  return value;
}
MLA_BF16 __hip_bfloat16 __float2bfloat16_rn(float value) {
  return value;
}
MLA_BF16 __hip_bfloat16 __double2bfloat16(double value) {
  return value;
}
MLA_BF16 float __bfloat162float(__hip_bfloat16 value) {
  return value;
}
MLA_BF16 __hip_bfloat162 __float2bfloat162_rn(float both) {
  return {both, both};
}
MLA_BF16 __hip_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {x, y};
}
MLA_BF16 __hip_bfloat162 __float22bfloat162_rn(float2 value) {
  return {value.x, value.y};
}
MLA_BF16 float2 __bfloat1622float2(__hip_bfloat162 v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y)};
}
MLA_BF16 __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 both) {
  return {both, both};
}
MLA_BF16 __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
MLA_BF16 __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) {
  return {x, y};
}
MLA_BF16 __hip_bfloat16 __low2bfloat16(__hip_bfloat162 value) {
  return value.x;
}
MLA_BF16 __hip_bfloat16 __high2bfloat16(__hip_bfloat162 value) {
  return value.y;
}
MLA_BF16 float __low2float(__hip_bfloat162 value) {
  return value.x;
}
MLA_BF16 float __high2float(__hip_bfloat162 value) {
  return value.y;
}

#define MLA_TWO(name, symbol)                                                   \
  MLA_BF16 __hip_bfloat16 __h##name(__hip_bfloat16 a, __hip_bfloat16 b) {       \
    return a symbol b;                                                          \
  }                                                                             \
  MLA_BF16 __hip_bfloat162 __h##name##2(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return a symbol b;                                                          \
  }
MLA_TWO(add, +)
MLA_TWO(sub, -)
MLA_TWO(mul, *)
#undef MLA_TWO
MLA_BF16 __hip_bfloat16 __hdiv(__hip_bfloat16 a, __hip_bfloat16 b) {
  return a / b;
}
MLA_BF16 __hip_bfloat162 __h2div(__hip_bfloat162 a, __hip_bfloat162 b) {
  return a / b;
}
MLA_BF16 __hip_bfloat16 __hneg(__hip_bfloat16 a) {
  return -a;
}
MLA_BF16 __hip_bfloat162 __hneg2(__hip_bfloat162 a) {
  return {-a.x, -a.y};
}
MLA_BF16 __hip_bfloat16 __habs(__hip_bfloat16 a) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(__bfloat16_as_ushort(a) & 0x7fff));
}
MLA_BF16 __hip_bfloat162 __habs2(__hip_bfloat162 a) {
  return {__habs(a.x), __habs(a.y)};
}
MLA_BF16 __hip_bfloat16 __hfma(__hip_bfloat16 a, __hip_bfloat16 b, __hip_bfloat16 c) {
  return __builtin_fmaf(a, b, c);
}
MLA_BF16 __hip_bfloat162 __hfma2(__hip_bfloat162 a, __hip_bfloat162 b, __hip_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
MLA_BF16 bool __hisnan(__hip_bfloat16 a) {
  return a != a;
}
MLA_BF16 int __hisinf(__hip_bfloat16 a) {
  return __bfloat16_as_ushort(__habs(a)) == 0x7f80;
}
MLA_BF16 __hip_bfloat16 __hmax(__hip_bfloat16 a, __hip_bfloat16 b) {
  return a > b || __hisnan(b) ? a : b;
}
MLA_BF16 __hip_bfloat16 __hmin(__hip_bfloat16 a, __hip_bfloat16 b) {
  return a < b || __hisnan(b) ? a : b;
}
MLA_BF16 __hip_bfloat162 __hmax2(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
MLA_BF16 __hip_bfloat162 __hmin2(__hip_bfloat162 a, __hip_bfloat162 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
#define MLA_COMPARE(name, symbol)                                               \
  MLA_BF16 bool __h##name(__hip_bfloat16 a, __hip_bfloat16 b) {                 \
    return a symbol b;                                                          \
  }                                                                             \
  MLA_BF16 __hip_bfloat162 __h##name##2(__hip_bfloat162 a, __hip_bfloat162 b) { \
    return {a.x symbol b.x, a.y symbol b.y};                                    \
  }                                                                             \
  MLA_BF16 bool __hb##name##2(__hip_bfloat162 a, __hip_bfloat162 b) {           \
    return a.x symbol b.x && a.y symbol b.y;                                    \
  }
MLA_COMPARE(eq, ==)
MLA_COMPARE(ne, !=)
MLA_COMPARE(lt, <)
MLA_COMPARE(le, <=)
MLA_COMPARE(gt, >)
MLA_COMPARE(ge, >=)
#undef MLA_COMPARE

#define MLA_FUNCTION(name, of)                                    \
  __device__ inline __hip_bfloat16 h##name(__hip_bfloat16 a) {    \
    return of(static_cast<float>(a));                             \
  }                                                               \
  __device__ inline __hip_bfloat162 h2##name(__hip_bfloat162 a) { \
    return {h##name(a.x), h##name(a.y)};                          \
  }
MLA_FUNCTION(exp, expf)
MLA_FUNCTION(exp2, exp2f)
MLA_FUNCTION(exp10, exp10f)
MLA_FUNCTION(log, logf)
MLA_FUNCTION(log2, log2f)
MLA_FUNCTION(log10, log10f)
MLA_FUNCTION(sin, sinf)
MLA_FUNCTION(cos, cosf)
MLA_FUNCTION(tanh, tanhf)
MLA_FUNCTION(sqrt, sqrtf)
MLA_FUNCTION(rsqrt, rsqrtf)
MLA_FUNCTION(rcp, 1.0F /)
MLA_FUNCTION(ceil, ceilf)
MLA_FUNCTION(floor, floorf)
MLA_FUNCTION(trunc, truncf)
MLA_FUNCTION(rint, rintf)
#undef MLA_FUNCTION
#undef MLA_BF16

// Both halves in one operation; what was there before.
__device__ inline __hip_bfloat162 unsafeAtomicAdd(__hip_bfloat162* to, __hip_bfloat162 value) {
  using Two = short __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(
      __hip_bfloat162, __builtin_amdgcn_flat_atomic_fadd_v2bf16(reinterpret_cast<Two*>(to),
                                                                __builtin_bit_cast(Two, value)));
}
