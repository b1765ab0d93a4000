// The sparse matrix instructions v_smfmac_*: of every four neighbours in a row of A, two are there.
// D is also the addend. Assumption SPARSE_LAYOUT.
//
// Layouts (AMD matrix instruction calculator): A lies like a dense matrix of half the depth; two
// neighbours of it stand for four of the row. The index register has two bits for each element, in
// the lane of the element: its place among the four. Where it has several sets, ABID selects one if
// CBSZ is 0, else the first is taken.
#include "hip_backend/gfx_emulator/exec/matrix-inl.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

namespace mla::gfx {
namespace {

template <class S>
using Compressed = Shape<S::rows, S::depth / 2, 1>;

// The k of an element of B. Eight registers are two halves of the depth, four registers each.
template <class S, class Format>
constexpr unsigned k_of_b(unsigned group, unsigned e) {
  constexpr unsigned run = std::min(S::each, 4 * Format::in_register);
  return e / run * run * (lanes / S::rows) + group * run + e % run;
}

template <class S, class Format>
inline void unpack_b(const u32* first, Tiles<S, typename Format::Number>& out) {
  for (unsigned e = 0; e < S::each; ++e) {
    const u32* const word = first + std::size_t{e / Format::in_register} * lanes;
    for (unsigned l = 0; l < lanes; ++l) {
      out.values[0][k_of_b<S, Format>(l / S::rows, e)][l % S::rows] =
          Format::get(word[l], e % Format::in_register);
    }
  }
}

// For each compressed element of each row: its k.
template <class S>
struct Places {
  u8 k[S::depth / 2][S::rows];
  Places(Wave& w, const Inst& i) {
    constexpr unsigned each = Compressed<S>::each, sets = 32 / (2 * each);
    const unsigned set = i.cbsz == 0 ? i.abid % sets : 0;
    const u32* const index = w.reg(i.src[2]);
    for (unsigned l = 0; l < lanes; ++l) {
      for (unsigned e = 0; e < each; ++e) {
        const unsigned at = l / S::rows * each + e;
        const u32 place = index[l] >> (2 * (set * each + e)) & 3;
        k[at][l % S::rows] = static_cast<u8>(at / 2 * 4 + place);
      }
    }
  }
};

inline void add_product(u32& sum, float a, float b) {
  sum = bits_of(__builtin_fmaf(a, b, float_of(sum)));
}
inline void add_product(u32& sum, i32 a, i32 b) {
  sum += static_cast<u32>(a * b);
}

// What is not selected does not count, not even where it is NaN: nothing is multiplied by zero.
template <class S, class FA, class FB>
void sparse(Wave& w, const Inst& i) {
  keep_denormals(w);
  // LLVM decodes a scalar there, but no manual says what it would mean.
  if (i.src[2] < code::vgpr) {
    report_fault(w, i, Problem::bad_operand, -1, 0, "the index is no vector register");
    return;
  }
  if (FA::exact_group != 0 && wants_exact(w)) {
    report_fault(w, i, Problem::not_implemented, -1, 0,
                 "no exact model of sparse matrix instructions is published; use --matrix fast");
    return;
  }
  count_flops(w, matrix_type<FA>(), u64{S::rows} * S::rows * S::depth / 2);
  Tiles<Compressed<S>, typename FA::Number> a;
  Tiles<S, typename FB::Number> b;
  unpack<Compressed<S>, FA>(w.reg(i.src[0]), 0, a);
  unpack_b<S, FB>(w.reg(i.src[1]), b);
  const Places<S> places(w, i);
  u32* const d = w.reg(i.dst);
  for_tiles<S>([&](unsigned, unsigned row, unsigned column, unsigned reg, unsigned lane) {
    for (unsigned r = 0; r < 4; ++r) {
      u32 sum[16];
      u32* const to = d + std::size_t{reg + r} * lanes + lane;
      std::copy_n(to, 16, sum);
      for (unsigned at = 0; at < S::depth / 2; ++at) {
        const auto* const right = b.values[0][places.k[at][row + r]] + column;
        const auto left = a.values[0][at][row + r];
        for (unsigned n = 0; n < 16; ++n) add_product(sum[n], left, right[n]);
      }
      std::copy_n(sum, 16, to);
    }
  });
}

using Fnuz4 = Float8<Fp8::e4m3_fnuz>;
using Fnuz5 = Float8<Fp8::e5m2_fnuz>;
using Ocp4 = Float8<Fp8::e4m3_ocp>;
using Ocp5 = Float8<Fp8::e5m2_ocp>;

// The first of each pair is on both architectures, the second, of twice the depth, on gfx950.
#define SPARSE(result, m, k, twice, type, format)                                               \
  {"v_smfmac_" result "_" #m "x" #m "x" #k "_" type, sparse<Shape<m, k, 1>, format, format>}, { \
    "v_smfmac_" result "_" #m "x" #m "x" #twice "_" type,                                       \
        sparse<Shape<m, twice, 1>, format, format>, Only::gfx950                                \
  }
#define SPARSE8(m, k, twice, type, a, b)                                                       \
  {"v_smfmac_f32_" #m "x" #m "x" #k "_" type, sparse<Shape<m, k, 1>, Fnuz##a, Fnuz##b>,        \
   Only::gfx942},                                                                              \
      {"v_smfmac_f32_" #m "x" #m "x" #k "_" type, sparse<Shape<m, k, 1>, Ocp##a, Ocp##b>,      \
       Only::gfx950},                                                                          \
  {                                                                                            \
    "v_smfmac_f32_" #m "x" #m "x" #twice "_" type, sparse<Shape<m, twice, 1>, Ocp##a, Ocp##b>, \
        Only::gfx950                                                                           \
  }

const Entry entries[] = {
    SPARSE("f32", 16, 32, 64, "f16", F16),   SPARSE("f32", 32, 16, 32, "f16", F16),
    SPARSE("f32", 16, 32, 64, "bf16", Bf16), SPARSE("f32", 32, 16, 32, "bf16", Bf16),
    SPARSE("i32", 16, 64, 128, "i8", I8),    SPARSE("i32", 32, 32, 64, "i8", I8),
    SPARSE8(16, 64, 128, "fp8_fp8", 4, 4),   SPARSE8(16, 64, 128, "fp8_bf8", 4, 5),
    SPARSE8(16, 64, 128, "bf8_fp8", 5, 4),   SPARSE8(16, 64, 128, "bf8_bf8", 5, 5),
    SPARSE8(32, 32, 64, "fp8_fp8", 4, 4),    SPARSE8(32, 32, 64, "fp8_bf8", 4, 5),
    SPARSE8(32, 32, 64, "bf8_fp8", 5, 4),    SPARSE8(32, 32, 64, "bf8_bf8", 5, 5),
};

}  // namespace

Entries MLA_GFX_PATH::matrix_sparse_entries() {
  return entries;
}

}  // namespace mla::gfx
