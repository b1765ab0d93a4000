// Owns: how references of scalar operations are written down: results, SCC and EXEC from operands
// and the state before.
#pragma once

#include <optional>

#include "alu.hpp"
#include "reference.hpp"

namespace gfx_test {

struct Before {
  u64 old = 0, exec = 0;
  bool scc = false;
};
struct After {
  u64 value = 0;
  std::optional<bool> scc = {};
  std::optional<u64> exec = {};
};

struct Sop {
  std::string name;
  std::vector<Type> sources;
  std::function<After(u64, u64, const Before&)> run;
};

// References take one or two operands and the state before.
template <class A>
Sop unary(const std::string& name, const std::function<After(A, const Before&)>& f) {
  return {name, {type_of<A>()}, [f](u64 a, u64, const Before& before) {
            return f(from_bits<A>(a), before);
          }};
}
template <class A, class B>
Sop binary(const std::string& name, const std::function<After(A, B, const Before&)>& f) {
  return {name, {type_of<A>(), type_of<B>()}, [f](u64 a, u64 b, const Before& before) {
            return f(from_bits<A>(a), from_bits<B>(b), before);
          }};
}

inline After kept(u64 value) {
  return {.value = value};
}
inline After not_zero(u64 value) {
  return {.value = value, .scc = value != 0};
}
inline After with(u64 value, bool scc) {
  return {.value = value, .scc = scc};
}
inline After tested(bool scc) {
  return {.value = 0, .scc = scc};
}
inline u64 low32(i64 value) {
  return static_cast<u32>(value);
}

[[nodiscard]] std::vector<Sop> sop1_table();
[[nodiscard]] std::vector<Sop> sop2_table();  // SOP2, SOPC and SOPK

}  // namespace gfx_test
