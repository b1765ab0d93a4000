// MODE.FP16_OVFL: what is too large for f16 becomes its largest number, and infinities stay.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

constexpr u32 fp16_ovfl = 1U << 23;

// `plain` is the f16 of a result; `exact` is infinite or NaN where that is no overflow.
Half saturated(Half plain, double exact) {
  if ((plain.bits & 0x7fff) != 0x7c00 || !std::isfinite(exact)) return plain;
  return Half{static_cast<u16>(plain.bits - 1)};
}
Half saturated(double exact) {
  return saturated(half_of(exact), exact);
}

template <class F>
Alu binary(const char* name, F f) {
  return alu(name, [f](Half a, Half b) { return saturated(f(value_of(a), value_of(b))); });
}

Half fused_limited(Half a, Half b, Half c) {
  return saturated(fused(a, b, c), value_of(a) * value_of(b) + value_of(c));
}
Half twice_limited(Half a, Half b, Half c) {
  return saturated(value_of(saturated(value_of(a) * value_of(b))) + value_of(c));
}

std::vector<Alu> operations() {
  const AluOptions kept = {.keeps_high = true};
  return {
      binary("v_add_f16", [](double a, double b) { return a + b; }),
      binary("v_sub_f16", [](double a, double b) { return a - b; }),
      binary("v_subrev_f16", [](double a, double b) { return b - a; }),
      binary("v_mul_f16", [](double a, double b) { return a * b; }),
      alu("v_fma_f16", fused_limited, kept),
      alu("v_fma_legacy_f16", fused_limited),
      alu("v_mad_f16", twice_limited, kept),
      alu("v_mad_legacy_f16", twice_limited),
      alu("v_mac_f16", twice_limited),
      alu("v_madmk_f16", twice_limited),
      alu("v_madak_f16", twice_limited),
      alu("v_ldexp_f16",
          [](Half a, i16 b) { return saturated(std::ldexp(value_of(a), std::min<int>(b, 200))); }),
      alu("v_rcp_f16", [](Half a) { return saturated(1 / value_of(a)); },
          {.compare = Compare::f16_ulp}),
      // An f64 would overflow too: 2^65504 is no infinity.
      alu("v_exp_f16",
          [](Half a) {
            const double x = value_of(a);
            return saturated(std::exp2(std::isfinite(x) ? std::min(x, 1000.0) : x));
          },
          {.compare = Compare::f16_ulp}),
      alu("v_cvt_f16_f32", [](float a) { return saturated(static_cast<double>(a)); }),
      alu("v_cvt_f16_u16", [](u16 a) { return saturated(a); }),
      alu("v_cvt_pk_f16_f32",
          [](float a, float b) {
            const u32 low = saturated(static_cast<double>(a)).bits;
            return low | static_cast<u32>(saturated(static_cast<double>(b)).bits) << 16;
          },
          {.compare = Compare::two_f16}),
  };
}

// Mixed multiply-adds round to f32 before they round to f16.
u32 mixed_half(const Operands& row, unsigned lane) {
  const auto source = [&](unsigned k) {
    return static_cast<float>(value_of(Half{static_cast<u16>(row[k][lane])}));
  };
  return saturated(static_cast<double>(std::fma(source(0), source(1), source(2)))).bits;
}

// Each half of packed results, and the half that a mixed multiply-add writes.
void add_packed(Vectors& out, Arch arch) {
  const std::vector<Type> types(3, Type::f16);
  for (const char* const name : {"v_pk_add_f16", "v_pk_mul_f16", "v_pk_fma_f16", "v_fma_mixlo_f16",
                                 "v_fma_mixhi_f16", "v_pk_fmac_f16"}) {
    const Op op = find_op(arch, name);
    const std::string text = name;
    const bool accumulates = text == "v_pk_fmac_f16";
    for (const Operands& row : operand_rows(name, types, {})) {
      Vector v{.operation = op.name, .note = "FP16_OVFL"};
      v.before.mode |= fp16_ovfl;
      std::array<unsigned, 3> src = {vgpr + 10, vgpr + 14, accumulates ? vgpr + 22 : vgpr + 18};
      put_row(v.before, vgpr + 22, random_row("old"), 4);
      for (unsigned k = 0; k < 3; ++k) {
        for (unsigned l = 0; l < lanes; ++l) {
          v.before.v[src[k]][l] = static_cast<u32>(row[k][l] | (row[k][l] ^ 0x8000) << 16);
        }
      }
      if (!accumulates && op.width[3] == 0) src[2] = 0;
      v.words = accumulates
                    ? encode::vop2(op.number, vgpr + 22, src[0], src[1])
                    : encode::vop3p(op.number,
                                    {.dst = vgpr + 22, .src = src, .op_sel = 0, .op_sel_hi = 7});
      Expected e{.index = vgpr + 22, .values = {}, .compare = Compare::two_f16};
      for (unsigned l = 0; l < lanes; ++l) {
        const auto half = [&](unsigned high) -> u32 {
          const auto source = [&](unsigned k) {
            return Half{static_cast<u16>(row[k][l] ^ (high != 0 ? 0x8000 : 0))};
          };
          const double a = value_of(source(0)), b = value_of(source(1));
          if (text == "v_pk_add_f16") return saturated(a + b).bits;
          if (text == "v_pk_mul_f16") return saturated(a * b).bits;
          return fused_limited(source(0), source(1), source(2)).bits;
        };
        const u32 old = v.before.v[vgpr + 22][l];
        e.values[l] = half(0) | half(1) << 16;
        if (text == "v_fma_mixlo_f16") e.values[l] = (old & 0xffff0000) | mixed_half(row, l);
        if (text == "v_fma_mixhi_f16") e.values[l] = (old & 0xffff) | mixed_half(row, l) << 16;
      }
      v.after = {e};
      out.push_back(std::move(v));
    }
  }
}

}  // namespace

Vectors overflow_vectors(Arch arch) {
  Vectors out = vectors_of(arch, operations());
  for (Vector& vector : out) vector.before.mode |= fp16_ovfl;
  add_packed(out, arch);
  return out;
}

}  // namespace gfx_test
