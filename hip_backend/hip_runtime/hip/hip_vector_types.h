// char1 to double4 with their operators, element by element, and make_char1() and its like.
#pragma once

#include <type_traits>

#include "runtime_types.h"

namespace mla_hip {

template <class T, int count>
struct Elements;
template <class T>
struct alignas(sizeof(T)) Elements<T, 1> {
  T x;
};
template <class T>
struct alignas(2 * sizeof(T)) Elements<T, 2> {
  T x, y;
};
template <class T>
struct Elements<T, 3> {
  T x, y, z;
};
template <class T>
struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) Elements<T, 4> {
  T x, y, z, w;
};

}  // namespace mla_hip

// The name is HIP's: programs write it in templates of their own.
template <class T, unsigned count>
struct HIP_vector_type : mla_hip::Elements<T, static_cast<int>(count)> {
  using value_type = T;
  HIP_vector_type() = default;
  // One number for every element, or one number for each.
  template <class U, class = std::enable_if_t<std::is_convertible_v<U, T> && (count > 1)>>
  MLA_HIP_BOTH constexpr HIP_vector_type(U value) {
    for (unsigned k = 0; k < count; ++k) (*this)[k] = static_cast<T>(value);
  }
  template <class... U, class = std::enable_if_t<sizeof...(U) == count>>
  MLA_HIP_BOTH constexpr HIP_vector_type(U... values)
      : mla_hip::Elements<T, static_cast<int>(count)>{static_cast<T>(values)...} {}
  MLA_HIP_BOTH constexpr T& operator[](unsigned k) {
    if constexpr (count > 1) {
      if (k == 1) return this->y;
    }
    if constexpr (count > 2) {
      if (k == 2) return this->z;
    }
    if constexpr (count > 3) {
      if (k == 3) return this->w;
    }
    return this->x;
  }
  MLA_HIP_BOTH constexpr const T& operator[](unsigned k) const {
    return const_cast<HIP_vector_type&>(*this)[k];
  }
#define MLA_COMPOUND(symbol)                                                           \
  MLA_HIP_BOTH constexpr HIP_vector_type& operator symbol(const HIP_vector_type & b) { \
    for (unsigned k = 0; k < count; ++k) (*this)[k] symbol b[k];                       \
    return *this;                                                                      \
  }
  MLA_COMPOUND(+=)
  MLA_COMPOUND(-=)
  MLA_COMPOUND(*=)
  MLA_COMPOUND(/=)
  MLA_COMPOUND(%=)
  MLA_COMPOUND(&=)
  MLA_COMPOUND(|=)
  MLA_COMPOUND(^=)
  MLA_COMPOUND(<<=)
  MLA_COMPOUND(>>=)
#undef MLA_COMPOUND
  MLA_HIP_BOTH constexpr HIP_vector_type& operator++() { return *this += HIP_vector_type(one()); }
  MLA_HIP_BOTH constexpr HIP_vector_type& operator--() { return *this -= HIP_vector_type(one()); }
  MLA_HIP_BOTH constexpr HIP_vector_type operator++(int) {
    const HIP_vector_type before = *this;
    ++*this;
    return before;
  }
  MLA_HIP_BOTH constexpr HIP_vector_type operator--(int) {
    const HIP_vector_type before = *this;
    --*this;
    return before;
  }
  MLA_HIP_BOTH constexpr HIP_vector_type operator-() const {
    HIP_vector_type out = *this;
    for (unsigned k = 0; k < count; ++k) out[k] = static_cast<T>(-out[k]);
    return out;
  }
  MLA_HIP_BOTH constexpr HIP_vector_type operator~() const {
    HIP_vector_type out = *this;
    for (unsigned k = 0; k < count; ++k) out[k] = static_cast<T>(~out[k]);
    return out;
  }
  MLA_HIP_BOTH friend constexpr bool operator==(const HIP_vector_type& a,
                                                const HIP_vector_type& b) {
    for (unsigned k = 0; k < count; ++k)
      if (!(a[k] == b[k])) return false;
    return true;
  }
  MLA_HIP_BOTH friend constexpr bool operator!=(const HIP_vector_type& a,
                                                const HIP_vector_type& b) {
    return !(a == b);
  }
  // Friends take a number on either side.
#define MLA_BINARY(symbol, compound)                                                        \
  MLA_HIP_BOTH friend constexpr HIP_vector_type operator symbol(HIP_vector_type a,          \
                                                                const HIP_vector_type& b) { \
    return a compound b;                                                                    \
  }
  MLA_BINARY(+, +=)
  MLA_BINARY(-, -=)
  MLA_BINARY(*, *=)
  MLA_BINARY(/, /=)
  MLA_BINARY(%, %=)
  MLA_BINARY(&, &=)
  MLA_BINARY(|, |=)
  MLA_BINARY(^, ^=)
  MLA_BINARY(<<, <<=)
  MLA_BINARY(>>, >>=)
#undef MLA_BINARY

 private:
  MLA_HIP_BOTH static constexpr T one() { return static_cast<T>(1); }
};

#define MLA_VECTORS(name, type)                                                          \
  using name##1 = HIP_vector_type<type, 1>;                                              \
  using name##2 = HIP_vector_type<type, 2>;                                              \
  using name##3 = HIP_vector_type<type, 3>;                                              \
  using name##4 = HIP_vector_type<type, 4>;                                              \
  MLA_HIP_BOTH constexpr inline name##1 make_##name##1(type x) {                         \
    return name##1(x);                                                                   \
  }                                                                                      \
  MLA_HIP_BOTH constexpr inline name##2 make_##name##2(type x, type y) {                 \
    return {x, y};                                                                       \
  }                                                                                      \
  MLA_HIP_BOTH constexpr inline name##3 make_##name##3(type x, type y, type z) {         \
    return {x, y, z};                                                                    \
  }                                                                                      \
  MLA_HIP_BOTH constexpr inline name##4 make_##name##4(type x, type y, type z, type w) { \
    return {x, y, z, w};                                                                 \
  }
MLA_VECTORS(char, signed char)
MLA_VECTORS(uchar, unsigned char)
MLA_VECTORS(short, short)
MLA_VECTORS(ushort, unsigned short)
MLA_VECTORS(int, int)
MLA_VECTORS(uint, unsigned)
MLA_VECTORS(long, long)
MLA_VECTORS(ulong, unsigned long)
MLA_VECTORS(longlong, long long)
MLA_VECTORS(ulonglong, unsigned long long)
MLA_VECTORS(float, float)
MLA_VECTORS(double, double)
#undef MLA_VECTORS
