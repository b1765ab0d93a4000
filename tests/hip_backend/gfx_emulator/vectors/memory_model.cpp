#include "memory_model.hpp"

#include "alu.hpp"

namespace gfx_test {
namespace {

template <class T>
void add_integers(std::vector<AtomicNames>& out) {
  using Signed = std::make_signed_t<T>;
  constexpr bool wide = sizeof(T) == 8;
  const std::string bits = wide ? "64" : "32", twice = wide ? "_x2" : "";
  const auto add = [&](const std::string& ds, const std::string& type, const std::string& global,
                       bool two, const std::function<T(T, T, T)>& run) {
    const std::string suffix = type + bits;
    out.push_back({ds.empty() ? "" : ds + "|" + suffix,
                   global.empty() ? "" : global + twice,
                   {.name = ds + global,
                    .size = sizeof(T),
                    .two = two,
                    .type = wide ? Type::u64 : Type::u32,
                    .run = [run](u64 m, u64 d, u64 s) -> u64 {
                      return run(static_cast<T>(m), static_cast<T>(d), static_cast<T>(s));
                    }}});
  };
  const auto as_signed = [](T value) { return static_cast<Signed>(value); };
  add("add", "u", "add", false, [](T m, T d, T) -> T { return m + d; });
  add("sub", "u", "sub", false, [](T m, T d, T) -> T { return m - d; });
  add("rsub", "u", "", false, [](T m, T d, T) -> T { return d - m; });
  add("inc", "u", "inc", false, [](T m, T d, T) -> T { return m < d ? m + 1 : 0; });
  add("dec", "u", "dec", false, [](T m, T d, T) -> T { return m != 0 && m <= d ? m - 1 : d; });
  add("min", "i", "smin", false, [=](T m, T d, T) { return as_signed(m) < as_signed(d) ? m : d; });
  add("max", "i", "smax", false, [=](T m, T d, T) { return as_signed(m) > as_signed(d) ? m : d; });
  add("min", "u", "umin", false, [](T m, T d, T) { return m < d ? m : d; });
  add("max", "u", "umax", false, [](T m, T d, T) { return m > d ? m : d; });
  add("and", "b", "and", false, [](T m, T d, T) -> T { return m & d; });
  add("or", "b", "or", false, [](T m, T d, T) -> T { return m | d; });
  add("xor", "b", "xor", false, [](T m, T d, T) -> T { return m ^ d; });
  add("mskor", "b", "", true, [](T m, T d, T s) -> T { return (m & ~d) | s; });
  add("wrxchg", "b", "swap", false, [](T, T d, T) { return d; });
  if (!wide) add("wrap", "b", "", true, [](T m, T d, T s) -> T { return m < d ? m + s : m - d; });
  // DS compares with the first operand, global memory with the second.
  add("cmpst", "b", "", true, [](T m, T d, T s) { return m == d ? s : m; });
  add("", "", "cmpswap", true, [](T m, T d, T s) { return m == s ? d : m; });
}

std::vector<u64> numbers(bool wide) {
  std::vector<u64> out;
  for (const double x : {0.0, 1.0, -1.0, 0.5, -2.5, 1e10, -3e-9, 123456.789}) {
    out.push_back(wide ? bits_of(x) : bits_of(static_cast<float>(x)));
  }
  return out;
}

template <class T>
void add_floats(std::vector<AtomicNames>& out) {
  constexpr bool wide = sizeof(T) == 8;
  const std::string bits = wide ? "f64" : "f32";
  const auto add = [&](const std::string& name, bool global, bool two,
                       const std::function<T(T, T, T)>& run) {
    out.push_back({name + "|" + bits,
                   global ? name + "_" + bits : "",
                   {.name = name,
                    .size = sizeof(T),
                    .two = two,
                    .compare = wide ? Compare::f64 : Compare::f32,
                    .only = numbers(wide),
                    .type = wide ? Type::f64 : Type::f32,
                    .run = [run](u64 m, u64 d, u64 s) -> u64 {
                      return to_bits(run(from_bits<T>(m), from_bits<T>(d), from_bits<T>(s)));
                    }}});
  };
  add("add", true, false, [](T m, T d, T) { return m + d; });
  add("min", wide, false, [](T m, T d, T) { return std::min(m, d); });
  add("max", wide, false, [](T m, T d, T) { return std::max(m, d); });
  add("cmpst", false, true, [](T m, T d, T s) { return m == d ? s : m; });
}

template <class F>
Atomic pairs(F sum, const std::function<u32(double)>& encode) {
  std::vector<u64> values;
  for (const double x : {0.0, 1.0, -1.5, 0.03125, 100.0, -7.0}) {
    values.push_back(encode(x) | encode(x * 3 + 1) << 16);
  }
  return {.name = "pk_add",
          .size = 4,
          .only = values,
          .type = Type::u32,
          .run = [sum](u64 m, u64 d, u64) -> u64 {
            return sum(m & 0xffff, d & 0xffff) | u64{sum(m >> 16, d >> 16)} << 16;
          }};
}

}  // namespace

std::vector<AtomicNames> all_atomics() {
  std::vector<AtomicNames> out;
  add_integers<u32>(out);
  add_integers<u64>(out);
  add_floats<float>(out);
  add_floats<double>(out);
  const auto half = [](double value) -> u32 { return half_of(value).bits; };
  const auto number = [](u64 bits) { return value_of(Half{static_cast<u16>(bits)}); };
  out.push_back({"pk_add|f16", "pk_add_f16",
                 pairs([=](u64 a, u64 b) { return half(number(a) + number(b)); }, half)});
  const auto brain = [](u64 bits) { return brain_value(static_cast<u32>(bits)); };
  out.push_back({"pk_add|bf16", "pk_add_bf16",
                 pairs([=](u64 a, u64 b) { return brain_of(brain(a) + brain(b)); }, brain_of)});
  return out;
}

}  // namespace gfx_test
