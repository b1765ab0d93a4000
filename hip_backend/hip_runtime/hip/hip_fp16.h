// __half and __half2: conversions, operators and HIP's functions of them, on host and device.
#pragma once

#include <hip/hip_runtime.h>

#if !defined(__HIP__)
#error "hip_fp16.h needs clang -x hip"
#endif

#define MLA_HALF __host__ __device__ inline

struct __half_raw {
  union {
    static_assert(sizeof(_Float16) == 2);
    _Float16 data;
    unsigned short x;
  };
};

struct __half {
 protected:
  union {
    static_assert(sizeof(_Float16) == 2);
    _Float16 data;
    unsigned short __x;
  };

 public:
  __half() = default;
  __host__ __device__ constexpr __half(_Float16 value) : data(value) {}
  __host__ __device__ __half(const __half_raw& raw) : data(raw.data) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  __host__ __device__ constexpr __half(T value) : data(static_cast<_Float16>(value)) {}
  __host__ __device__ operator _Float16() const { return data; }
  __host__ __device__ operator __half_raw() const { return {{data}}; }
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>>
  __host__ __device__ operator T() const {
    return static_cast<T>(data);
  }
  __host__ __device__ operator bool() const { return data != 0; }

#define MLA_OPERATOR(symbol)                                            \
  MLA_HALF friend __half operator symbol(__half a, __half b) {          \
    return __half(static_cast<_Float16>(a.data symbol b.data));         \
  }                                                                     \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> \
  MLA_HALF friend __half operator symbol(__half a, T b) {               \
    return a symbol __half(b);                                          \
  }                                                                     \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> \
  MLA_HALF friend __half operator symbol(T a, __half b) {               \
    return __half(a) symbol b;                                          \
  }                                                                     \
  MLA_HALF __half& operator symbol##=(__half b) { return *this = *this symbol b; }
  MLA_OPERATOR(+)
  MLA_OPERATOR(-)
  MLA_OPERATOR(*)
  MLA_OPERATOR(/)
#undef MLA_OPERATOR
#define MLA_COMPARE(symbol)                                                                 \
  MLA_HALF friend bool operator symbol(__half a, __half b) { return a.data symbol b.data; } \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>                     \
  MLA_HALF friend bool operator symbol(__half a, T b) {                                     \
    return a.data symbol static_cast<_Float16>(b);                                          \
  }
  MLA_COMPARE(==)
  MLA_COMPARE(!=)
  MLA_COMPARE(<)
  MLA_COMPARE(<=)
  MLA_COMPARE(>)
  MLA_COMPARE(>=)
#undef MLA_COMPARE
  MLA_HALF __half operator-() const { return __half(static_cast<_Float16>(-data)); }
  MLA_HALF __half operator+() const { return *this; }
  MLA_HALF __half& operator++() { return *this += __half(1); }
  MLA_HALF __half& operator--() { return *this -= __half(1); }
};

struct __half2 {
  __half x, y;
  __half2() = default;
  __host__ __device__ constexpr __half2(__half a, __half b) : x(a), y(b) {}
  __host__ __device__ constexpr explicit __half2(__half both) : x(both), y(both) {}
#define MLA_OPERATOR(symbol)                                      \
  MLA_HALF friend __half2 operator symbol(__half2 a, __half2 b) { \
    return {a.x symbol b.x, a.y symbol b.y};                      \
  }                                                               \
  MLA_HALF __half2& operator symbol##=(__half2 b) { return *this = *this symbol b; }
  MLA_OPERATOR(+)
  MLA_OPERATOR(-)
  MLA_OPERATOR(*)
  MLA_OPERATOR(/)
#undef MLA_OPERATOR
  MLA_HALF __half2 operator-() const { return {-x, -y}; }
  MLA_HALF friend bool operator==(__half2 a, __half2 b) { return a.x == b.x && a.y == b.y; }
  MLA_HALF friend bool operator!=(__half2 a, __half2 b) { return !(a == b); }
} __attribute__((aligned(4)));

using half = __half;
using half2 = __half2;
using __half2_raw = __half2;

MLA_HALF __half2 make_half2(__half x, __half y) {
  return {x, y};
}
MLA_HALF __half __float2half(float value) {
  return __half(value);
}
MLA_HALF __half __float2half_rn(float value) {
  return __half(value);
}
MLA_HALF __half __float2half_rd(float value) {
  return __half(mla_hip::narrowed<_Float16>(value, mla_hip::Rounding::down));
}
MLA_HALF __half __float2half_ru(float value) {
  return __half(mla_hip::narrowed<_Float16>(value, mla_hip::Rounding::up));
}
MLA_HALF __half __float2half_rz(float value) {
  return __half(mla_hip::narrowed<_Float16>(value, mla_hip::Rounding::to_zero));
}
MLA_HALF __half __double2half(double value) {
  return __half(value);
}
MLA_HALF float __half2float(__half value) {
  return static_cast<float>(value);
}
MLA_HALF __half2 __float2half2_rn(float both) {
  return __half2(__half(both));
}
MLA_HALF __half2 __floats2half2_rn(float x, float y) {
  return {__half(x), __half(y)};
}
MLA_HALF __half2 __float22half2_rn(float2 value) {
  return {__half(value.x), __half(value.y)};
}
MLA_HALF float2 __half22float2(__half2 v) {
  return {__half2float(v.x), __half2float(v.y)};
}
MLA_HALF __half __low2half(__half2 value) {
  return value.x;
}
MLA_HALF __half __high2half(__half2 value) {
  return value.y;
}
MLA_HALF float __low2float(__half2 value) {
  return __half2float(value.x);
}
MLA_HALF float __high2float(__half2 value) {
  return __half2float(value.y);
}
MLA_HALF __half2 __half2half2(__half both) {
  return __half2(both);
}
MLA_HALF __half2 __halves2half2(__half x, __half y) {
  return {x, y};
}
MLA_HALF __half2 __low2half2(__half2 value) {
  return __half2(value.x);
}
MLA_HALF __half2 __high2half2(__half2 value) {
  return __half2(value.y);
}
MLA_HALF __half2 __lows2half2(__half2 a, __half2 b) {
  return {a.x, b.x};
}
MLA_HALF __half2 __highs2half2(__half2 a, __half2 b) {
  return {a.y, b.y};
}
MLA_HALF __half2 __lowhigh2highlow(__half2 value) {
  return {value.y, value.x};
}
MLA_HALF unsigned short __half_as_ushort(__half v) {
  return __builtin_bit_cast(unsigned short, v);
}
MLA_HALF short __half_as_short(__half value) {
  return __builtin_bit_cast(short, value);
}
MLA_HALF __half __ushort_as_half(unsigned short v) {
  return __builtin_bit_cast(__half, v);
}
MLA_HALF __half __short_as_half(short value) {
  return __builtin_bit_cast(__half, value);
}

// An integer rounded twice in one direction, which is rounding once.
template <class From>
MLA_HALF __half __mla_half_of(From value, mla_hip::Rounding rounding) {
  const double wide = mla_hip::of_integer<double>(value, rounding);
  return __half(mla_hip::narrowed<_Float16>(wide, rounding));
}
// To an integer and from one: down, nearest, up, to zero.
#define MLA_INTEGER(name, type)                                  \
  MLA_HALF type __half2##name##_rn(__half v) {                   \
    return static_cast<type>(__builtin_rintf(__half2float(v)));  \
  }                                                              \
  MLA_HALF type __half2##name##_rz(__half v) {                   \
    return static_cast<type>(__half2float(v));                   \
  }                                                              \
  MLA_HALF type __half2##name##_rd(__half v) {                   \
    return static_cast<type>(__builtin_floorf(__half2float(v))); \
  }                                                              \
  MLA_HALF type __half2##name##_ru(__half v) {                   \
    return static_cast<type>(__builtin_ceilf(__half2float(v)));  \
  }                                                              \
  MLA_HALF __half __##name##2half_rn(type v) {                   \
    return __half(v);                                            \
  }                                                              \
  MLA_HALF __half __##name##2half_rd(type v) {                   \
    return __mla_half_of(v, mla_hip::Rounding::down);            \
  }                                                              \
  MLA_HALF __half __##name##2half_ru(type v) {                   \
    return __mla_half_of(v, mla_hip::Rounding::up);              \
  }                                                              \
  MLA_HALF __half __##name##2half_rz(type v) {                   \
    return __mla_half_of(v, mla_hip::Rounding::to_zero);         \
  }
MLA_INTEGER(int, int)
MLA_INTEGER(uint, unsigned)
MLA_INTEGER(short, short)
MLA_INTEGER(ushort, unsigned short)
MLA_INTEGER(ll, long long)
MLA_INTEGER(ull, unsigned long long)
#undef MLA_INTEGER

// Arithmetic of one and of two.
#define MLA_TWO(name, symbol)                           \
  MLA_HALF __half __h##name(__half a, __half b) {       \
    return a symbol b;                                  \
  }                                                     \
  MLA_HALF __half2 __h##name##2(__half2 a, __half2 b) { \
    return a symbol b;                                  \
  }
MLA_TWO(add, +)
MLA_TWO(sub, -)
MLA_TWO(mul, *)
#undef MLA_TWO
MLA_HALF __half __hdiv(__half a, __half b) {
  return a / b;
}
MLA_HALF __half2 __h2div(__half2 a, __half2 b) {
  return a / b;
}
MLA_HALF __half __hneg(__half a) {
  return -a;
}
MLA_HALF __half2 __hneg2(__half2 a) {
  return -a;
}
MLA_HALF __half __habs(__half a) {
  return __ushort_as_half(static_cast<unsigned short>(__half_as_ushort(a) & 0x7fff));
}
MLA_HALF __half2 __habs2(__half2 a) {
  return {__habs(a.x), __habs(a.y)};
}
MLA_HALF __half __hfma(__half a, __half b, __half c) {
  const auto x = static_cast<_Float16>(a), y = static_cast<_Float16>(b),
             z = static_cast<_Float16>(c);
#ifdef __HIP_DEVICE_COMPILE__
  return __half(static_cast<_Float16>(__builtin_elementwise_fma(x, y, z)));
#else
  return __half(static_cast<_Float16>(__builtin_fma(x, y, z)));
#endif
}
MLA_HALF __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
MLA_HALF __half __hsat(__half v) {
  return v > __half(1) ? __half(1) : v > __half(0) ? v : __half(0);
}
MLA_HALF __half __hadd_sat(__half a, __half b) {
  return __hsat(a + b);
}
MLA_HALF __half __hsub_sat(__half a, __half b) {
  return __hsat(a - b);
}
MLA_HALF __half __hmul_sat(__half a, __half b) {
  return __hsat(a * b);
}
MLA_HALF __half __hfma_sat(__half a, __half b, __half c) {
  return __hsat(__hfma(a, b, c));
}
MLA_HALF bool __hisnan(__half a) {
  return a != a;
}
MLA_HALF int __hisinf(__half a) {
  return __half_as_ushort(__habs(a)) == 0x7c00;
}
MLA_HALF __half __hmax(__half a, __half b) {
  return a > b || __hisnan(b) ? a : b;
}
MLA_HALF __half __hmin(__half a, __half b) {
  return a < b || __hisnan(b) ? a : b;
}
MLA_HALF __half2 __hmax2(__half2 a, __half2 b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
MLA_HALF __half2 __hmin2(__half2 a, __half2 b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}

// Comparisons; with u an unordered pair is true, with b both halves have to be.
#define MLA_COMPARE(name, symbol)                                            \
  MLA_HALF bool __h##name(__half a, __half b) {                              \
    return a symbol b;                                                       \
  }                                                                          \
  MLA_HALF bool __h##name##u(__half a, __half b) {                           \
    return a symbol b || __hisnan(a) || __hisnan(b);                         \
  }                                                                          \
  MLA_HALF __half2 __h##name##2(__half2 a, __half2 b) {                      \
    return {__half(a.x symbol b.x ? 1 : 0), __half(a.y symbol b.y ? 1 : 0)}; \
  }                                                                          \
  MLA_HALF bool __hb##name##2(__half2 a, __half2 b) {                        \
    return a.x symbol b.x && a.y symbol b.y;                                 \
  }
MLA_COMPARE(eq, ==)
MLA_COMPARE(lt, <)
MLA_COMPARE(le, <=)
MLA_COMPARE(gt, >)
MLA_COMPARE(ge, >=)
#undef MLA_COMPARE
MLA_HALF bool __hne(__half a, __half b) {
  return a != b && !__hisnan(a) && !__hisnan(b);
}
MLA_HALF bool __hneu(__half a, __half b) {
  return a != b;
}

// Functions: calculated in float, rounded once more.
#define MLA_FUNCTION(name, of)                    \
  __device__ inline __half h##name(__half a) {    \
    return __half(of(__half2float(a)));           \
  }                                               \
  __device__ inline __half2 h2##name(__half2 a) { \
    return {h##name(a.x), h##name(a.y)};          \
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
#undef MLA_HALF

// Both halves in one operation; what was there before.
__device__ inline __half2 unsafeAtomicAdd(__half2* to, __half2 value) {
  using Two = _Float16 __attribute__((ext_vector_type(2)));
  return __builtin_bit_cast(
      __half2, __builtin_amdgcn_flat_atomic_fadd_v2f16(reinterpret_cast<Two*>(to),
                                                       __builtin_bit_cast(Two, value)));
}
