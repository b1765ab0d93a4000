// VOPC: a bit for each lane to VCC or a scalar pair; v_cmpx writes EXEC as well.
#include "hip_backend/gfx_emulator/exec/float-inl.hpp"
#include "hip_backend/gfx_emulator/isa/dpp.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace mla::gfx {
namespace {

// The sign bits of 64 words.
inline u64 gather_signs(const u32* words) {
  u64 bits = 0;
#if defined(__AVX2__)
  for (unsigned l = 0; l < lanes; l += 8) {
    const __m256i part = _mm256_load_si256(reinterpret_cast<const __m256i*>(words + l));
    bits |= static_cast<u64>(static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(part)))) << l;
  }
#else
  for (unsigned l = 0; l < lanes; ++l) bits |= static_cast<u64>(words[l] >> 31) << l;
#endif
  return bits;
}

template <class F, bool exec_too>
void run_compare(Wave& w, const Inst& i) {
  using S = Signature<decltype(&F::operator())>;
  const Source<typename S::template Argument<0>> a(w, i, 0);
  const Source<typename S::template Argument<1>> b(w, i, 1);
  alignas(64) u32 flags[lanes];
  MLA_GFX_LANES {
    flags[l] = F{}(a[l], b[l]) ? ~0U : 0U;
  }
  u64 bits = gather_signs(flags) & w.exec();
  if (i.dpp) bits &= dpp_lanes(i);
  write_scalar64(w, i.sdst, bits);
  if constexpr (exec_too) w.set_pair(code::exec, bits);
}

template <class F, bool exec_too>
void compare(Wave& w, const Inst& i) {
  if constexpr (Signature<decltype(&F::operator())>::any_double) {
    keep_denormals(w);
    run_compare<F, exec_too>(w, i);
  } else {
    run_compare<F, exec_too>(w, i);
  }
}

template <class F>
constexpr Handler test(F) {
  return compare<F, false>;
}
template <class F>
constexpr Handler test_exec(F) {
  return compare<F, true>;
}

inline float real(float a) {
  return a;
}
inline double real(double a) {
  return a;
}
inline float real(Half a) {
  return to_float(a);
}

// Ten classes of numbers, in the order of the mask's bits.
inline bool in_class(u64 bits, unsigned exponent_bits, unsigned fraction_bits, u32 wanted) {
  const u64 fraction = bits & ((u64{1} << fraction_bits) - 1);
  const u64 top = (u64{1} << exponent_bits) - 1, exponent = bits >> fraction_bits & top;
  const bool negative = (bits >> (fraction_bits + exponent_bits) & 1) != 0;
  if (exponent == top && fraction != 0) {
    return (wanted >> (fraction >> (fraction_bits - 1) != 0 ? 1 : 0) & 1) != 0;
  }
  const unsigned kind = exponent == top ? 0 : exponent != 0 ? 1 : fraction != 0 ? 2 : 3;
  return (wanted >> (negative ? 2 + kind : 9 - kind) & 1) != 0;
}

#define PAIR(name, ...)                    \
  {"v_cmp_" name, test(__VA_ARGS__)}, {    \
    "v_cmpx_" name, test_exec(__VA_ARGS__) \
  }
#define REAL(type, name)                                                                           \
  PAIR("f_" name, [](type, type) { return false; }),                                               \
      PAIR("lt_" name, [](type a, type b) { return real(a) < real(b); }),                          \
      PAIR("eq_" name, [](type a, type b) { return real(a) == real(b); }),                         \
      PAIR("le_" name, [](type a, type b) { return real(a) <= real(b); }),                         \
      PAIR("gt_" name, [](type a, type b) { return real(a) > real(b); }),                          \
      PAIR("lg_" name, [](type a, type b) { return real(a) < real(b) || real(a) > real(b); }),     \
      PAIR("ge_" name, [](type a, type b) { return real(a) >= real(b); }),                         \
      PAIR("o_" name, [](type a, type b) { return real(a) == real(a) && real(b) == real(b); }),    \
      PAIR("u_" name, [](type a, type b) { return real(a) != real(a) || real(b) != real(b); }),    \
      PAIR("nge_" name, [](type a, type b) { return !(real(a) >= real(b)); }),                     \
      PAIR("nlg_" name, [](type a, type b) { return !(real(a) < real(b) || real(a) > real(b)); }), \
      PAIR("ngt_" name, [](type a, type b) { return !(real(a) > real(b)); }),                      \
      PAIR("nle_" name, [](type a, type b) { return !(real(a) <= real(b)); }),                     \
      PAIR("neq_" name, [](type a, type b) { return !(real(a) == real(b)); }),                     \
      PAIR("nlt_" name, [](type a, type b) { return !(real(a) < real(b)); }),                      \
      PAIR("tru_" name, [](type, type) { return true; })
#define WHOLE(type, name)                                      \
  PAIR("f_" name, [](type, type) { return false; }),           \
      PAIR("lt_" name, [](type a, type b) { return a < b; }),  \
      PAIR("eq_" name, [](type a, type b) { return a == b; }), \
      PAIR("le_" name, [](type a, type b) { return a <= b; }), \
      PAIR("gt_" name, [](type a, type b) { return a > b; }),  \
      PAIR("ne_" name, [](type a, type b) { return a != b; }), \
      PAIR("ge_" name, [](type a, type b) { return a >= b; }), \
      PAIR("t_" name, [](type, type) { return true; })

const Entry entries[] = {
    REAL(Half, "f16"),
    REAL(float, "f32"),
    REAL(double, "f64"),
    WHOLE(i16, "i16"),
    WHOLE(u16, "u16"),
    WHOLE(i32, "i32"),
    WHOLE(u32, "u32"),
    WHOLE(i64, "i64"),
    WHOLE(u64, "u64"),
    PAIR("class_f32", [](float a, u32 b) { return in_class(bits_of(a), 8, 23, b); }),
    PAIR("class_f64", [](double a, u32 b) { return in_class(std::bit_cast<u64>(a), 11, 52, b); }),
    PAIR("class_f16", [](Half a, u32 b) { return in_class(a.bits, 5, 10, b); }),
};

}  // namespace

Entries MLA_GFX_PATH::compare_entries() {
  return entries;
}

}  // namespace mla::gfx
