// Owns: vectors of vector operations from reference functions. A reference is a lambda over float,
// double, Half and integers; its parameter types say how the operands are read, and from them come
// the edge values, the encodings and the modifiers that are tried.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>

#include "numbers.hpp"
#include "vector.hpp"

namespace gfx_test {

struct AluOptions {
  Compare compare = Compare::bits;  // of a float result: by its type, unless said here
  bool keeps_high = false;          // a 16-bit result leaves the upper half alone (UPPER_HALF)
  bool op_sel = false;              // halves of 16-bit operands and of the result can be chosen
  bool modifiers = true;            // neg, abs, clamp and omod apply where there are floats
  bool result_modifiers = true;     // clamp and omod do
  std::vector<u64> only = {};       // the values of every operand, instead of edges and random bits
  unsigned truth = 0;               // v_bitop3: the table in the place of the modifiers
  // The same with clamp, for integers; empty: no clamp.
  std::function<u64(u64, u64, u64)> clamped = {};
};

struct Alu {
  std::string name;
  std::vector<Type> sources;
  Type result = Type::u32;
  std::function<u64(u64, u64, u64)> run;
  AluOptions options = {};
};

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, Half>) return Type::f16;
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, double>) return Type::f64;
  if constexpr (std::is_same_v<T, u16>) return Type::u16;
  if constexpr (std::is_same_v<T, i16>) return Type::i16;
  if constexpr (std::is_same_v<T, i32>) return Type::i32;
  if constexpr (std::is_same_v<T, u64>) return Type::u64;
  if constexpr (std::is_same_v<T, i64>) return Type::i64;
  return Type::u32;
}

template <class T>
T from_bits(u64 bits) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{static_cast<u16>(bits)};
  } else if constexpr (std::is_same_v<T, float>) {
    return float_of(static_cast<u32>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return double_of(bits);
  } else {
    return static_cast<T>(bits);
  }
}
template <class T>
u64 to_bits(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return value.bits;
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return bits_of(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

template <class F>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  static constexpr std::size_t count = sizeof...(A);
  using Arguments = std::tuple<A...>;
  static std::vector<Type> types() { return {type_of<A>()...}; }
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class F>
struct SignatureOf : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct SignatureOf<R (*)(A...)> : Signature<R (*)(A...)> {};

template <class F>
std::function<u64(u64, u64, u64)> by_bits(F f) {
  using S = SignatureOf<F>;
  return [f](u64 a, u64 b, u64 c) {
    const u64 all[3] = {a, b, c};
    return [&]<std::size_t... k>(std::index_sequence<k...>) {
      return to_bits<typename S::Result>(
          f(from_bits<std::tuple_element_t<k, typename S::Arguments>>(all[k])...));
    }(std::make_index_sequence<S::count>{});
  };
}

template <class F>
Alu alu(const std::string& name, F f, AluOptions options) {
  using S = SignatureOf<F>;
  return {name, S::types(), type_of<typename S::Result>(), by_bits(f), std::move(options)};
}
template <class F>
Alu alu(const std::string& name, F f) {
  return alu(name, f, {});
}

// The vectors of one operation: registers over all edges, part of EXEC, scalar sources, VOP3 with
// every modifier. None where the architecture does not have it.
void add_vectors(Vectors& out, mla::gfx::Arch arch, const Alu& alu);
[[nodiscard]] Vectors vectors_of(mla::gfx::Arch arch, const std::vector<Alu>& table);

// Operands for 64 lanes.
using Operands = std::array<WideRow, 3>;
// The product of all edges for one or two sources, then edges and random bits mixed.
[[nodiscard]] std::vector<Operands> operand_rows(const std::string& name,
                                                 const std::vector<Type>& types,
                                                 const std::vector<u64>& only);
// Random bits, the same for the same name.
[[nodiscard]] WideRow random_row(const std::string& name);
// What an inline constant is to an operand of this type.
[[nodiscard]] u64 inline_value(unsigned code, Type type);
// Registers of 64 values, the upper words in the next one.
void put_row(State& state, unsigned reg, const WideRow& values, unsigned bytes);
// A vector whose registers hold random dwords, by the words beside them.
[[nodiscard]] Vector random_registers(
    const Op& op, const std::string& note,
    std::initializer_list<std::pair<unsigned, const char*>> registers);
// abs, then neg.
[[nodiscard]] u64 signed_source(u64 bits, Type type, bool abs, bool neg);

}  // namespace gfx_test
