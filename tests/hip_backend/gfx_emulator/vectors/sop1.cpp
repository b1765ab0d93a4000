// References of SOP1.
#include "sop.hpp"

namespace gfx_test {
namespace {

using namespace reference;

template <class T>
void add_unary_of(std::vector<Sop>& out, const std::string& suffix) {
  const auto add = [&](const std::string& stem, const std::function<After(T, const Before&)>& f) {
    out.push_back(unary<T>("s_" + stem + suffix, f));
  };
  constexpr unsigned bits = 8 * sizeof(T);
  add("mov_b", [](T a, const Before&) { return kept(a); });
  add("cmov_b", [](T a, const Before& b) { return kept(b.scc ? a : b.old); });
  add("not_b", [](T a, const Before&) { return not_zero(static_cast<T>(~a)); });
  add("brev_b", [](T a, const Before&) { return kept(reversed(a)); });
  add("bcnt0_i32_b", [](T a, const Before&) { return not_zero(bits - ones(a)); });
  add("bcnt1_i32_b", [](T a, const Before&) { return not_zero(ones(a)); });
  add("ff0_i32_b", [](T a, const Before&) { return kept(low32(lowest_bit<T>(~a))); });
  add("ff1_i32_b", [](T a, const Before&) { return kept(low32(lowest_bit<T>(a))); });
  add("flbit_i32_b",
      [](T a, const Before&) { return kept(low32(a == 0 ? -1 : i32{bits} - 1 - highest_bit(a))); });
  add("wqm_b", [](T a, const Before&) {
    T out = 0;
    for (unsigned k = 0; k < bits; ++k) out |= (a >> k / 4 * 4 & 15) != 0 ? T{1} << k : 0;
    return not_zero(out);
  });
  add("quadmask_b", [](T a, const Before&) {
    T out = 0;
    for (unsigned k = 0; k < bits; ++k) out |= (a >> k & 1) << k / 4;
    return not_zero(out);
  });
  const std::string size = std::to_string(bits);
  out.push_back(unary<u32>("s_bitset0_b" + size, [](u32 a, const Before& b) {
    return kept(b.old & ~(u64{1} << a % bits));
  }));
  out.push_back(unary<u32>("s_bitset1_b" + size, [](u32 a, const Before& b) {
    return kept(b.old | u64{1} << a % bits);
  }));
}

std::vector<Sop> unaries() {
  std::vector<Sop> out = {
      unary<u32>("s_flbit_i32",
                 [](u32 a, const Before&) { return kept(low32(alike_from_top(a))); }),
      unary<i64>(
          "s_flbit_i32_i64",
          [](i64 a, const Before&) { return kept(low32(alike_from_top(static_cast<u64>(a)))); }),
      unary<u32>("s_sext_i32_i8",
                 [](u32 a, const Before&) { return kept(low32(sign_extended(a, 8))); }),
      unary<u32>("s_sext_i32_i16",
                 [](u32 a, const Before&) { return kept(low32(sign_extended(a, 16))); }),
      unary<i32>("s_abs_i32",
                 [](i32 a, const Before&) { return not_zero(low32(std::abs(i64{a}))); }),
      unary<u32>("s_bitreplicate_b64_b32",
                 [](u32 a, const Before&) {
                   u64 out = 0;
                   for (unsigned k = 0; k < 64; ++k) out |= u64{a >> k / 2 & 1} << k;
                   return kept(out);
                 }),
  };
  add_unary_of<u32>(out, "32");
  add_unary_of<u64>(out, "64");
  return out;
}

std::vector<Sop> exec_operations() {
  using Logic = u64 (*)(u64, u64);
  struct Named {
    const char* name;
    Logic run;
  };
  std::vector<Sop> out;
  for (const auto& [name, run] : {
           Named{"and", [](u64 s, u64 e) { return s & e; }},
           {"or", [](u64 s, u64 e) { return s | e; }},
           {"xor", [](u64 s, u64 e) { return s ^ e; }},
           {"andn2", [](u64 s, u64 e) { return s & ~e; }},
           {"orn2", [](u64 s, u64 e) { return s | ~e; }},
           {"nand", [](u64 s, u64 e) { return ~s | ~e; }},
           {"nor", [](u64 s, u64 e) { return ~s & ~e; }},
           {"xnor", [](u64 s, u64 e) { return (s & e) | (~s & ~e); }},
           {"andn1", [](u64 s, u64 e) { return ~s & e; }},
           {"orn1", [](u64 s, u64 e) { return ~s | e; }},
       }) {
    const Logic logic = run;
    out.push_back(unary<u64>("s_" + std::string(name) + "_saveexec_b64",
                             [logic](u64 a, const Before& b) -> After {
                               const u64 exec = logic(a, b.exec);
                               return {.value = b.exec, .scc = exec != 0, .exec = exec};
                             }));
    if (std::string(name) != "andn1" && std::string(name) != "andn2") continue;
    out.push_back(unary<u64>("s_" + std::string(name) + "_wrexec_b64",
                             [logic](u64 a, const Before& b) -> After {
                               const u64 exec = logic(a, b.exec);
                               return {.value = exec, .scc = exec != 0, .exec = exec};
                             }));
  }
  return out;
}

}  // namespace

std::vector<Sop> sop1_table() {
  std::vector<Sop> out = unaries();
  for (const Sop& sop : exec_operations()) out.push_back(sop);
  return out;
}

}  // namespace gfx_test
