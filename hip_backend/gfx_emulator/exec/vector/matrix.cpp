// The dense matrix instructions of f32, xf32, f16, bf16, i8, 8-bit floats and f64.
#include "hip_backend/gfx_emulator/exec/matrix-inl.hpp"

namespace mla::gfx {
namespace {

double double_at(const u32* first, unsigned index, unsigned lane) {
  return from_words<double>(first[2 * index * lanes + lane], first[(2 * index + 1) * lanes + lane]);
}

// f64: BLGP negates A, B and C. A and B: row lane % rows, k and block above it. D of 16x16:
// register r holds row 4 * r + lane / 16; D of 4x4: row lane / 16, block lane / 4 % 4.
template <unsigned rows>
void matrix_f64(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr unsigned results = rows == 16 ? 4 : 1;
  count_flops(w, MatrixType::f64, u64{results} * lanes * 4);
  const double sign_a = (i.blgp & 1) != 0 ? -1 : 1, sign_b = (i.blgp & 2) != 0 ? -1 : 1;
  const double sign_c = (i.blgp & 4) != 0 ? -1 : 1;
  const u32* const a = w.reg(i.src[0]);
  const u32* const b = w.reg(i.src[1]);
  const u32* const c = i.src[2] >= code::vgpr ? w.reg(i.src[2]) : nullptr;
  const double constant = c == nullptr ? std::bit_cast<double>(read_scalar64(w, i, i.src[2])) : 0;
  double out[results][lanes];
  for (unsigned r = 0; r < results; ++r) {
    for (unsigned l = 0; l < lanes; ++l) {
      const unsigned row = rows == 16 ? 4 * r + l / 16 : l / 16;
      const unsigned block = rows == 16 ? 0 : l & 12;
      double sum = sign_c * (c == nullptr ? constant : double_at(c, r, l));
      for (unsigned k = 0; k < 4; ++k) {
        const double left = double_at(a, 0, row + block + 16 * k);
        const double right = double_at(b, 0, l % rows + block + 16 * k);
        sum = __builtin_fma(sign_a * left, sign_b * right, sum);
      }
      out[r][l] = sum;
    }
  }
  u32* const d = w.reg(i.dst);
  for (unsigned r = 0; r < results; ++r) {
    for (unsigned l = 0; l < lanes; ++l) {
      to_words<double>(out[r][l], d[2 * r * lanes + l], d[(2 * r + 1) * lanes + l]);
    }
  }
}

using Fnuz4 = Float8<Fp8::e4m3_fnuz>;
using Fnuz5 = Float8<Fp8::e5m2_fnuz>;
using Ocp4 = Float8<Fp8::e4m3_ocp>;
using Ocp5 = Float8<Fp8::e5m2_ocp>;

#define SAME(name, m, k, blocks, format) {name, matrix<Shape<m, k, blocks>, format, format>}
#define EIGHT(name, m, k, a, b)                                     \
  {name, matrix<Shape<m, k, 1>, Fnuz##a, Fnuz##b>, Only::gfx942}, { \
    name, matrix<Shape<m, k, 1>, Ocp##a, Ocp##b>, Only::gfx950      \
  }

const Entry entries[] = {
    SAME("v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, F32),
    SAME("v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, F32),
    SAME("v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, F32),
    SAME("v_mfma_f32_32x32x2_f32", 32, 2, 1, F32),
    SAME("v_mfma_f32_16x16x4_f32", 16, 4, 1, F32),
    SAME("v_mfma_f32_16x16x8_xf32", 16, 8, 1, Xf32),
    SAME("v_mfma_f32_32x32x4_xf32", 32, 4, 1, Xf32),
    SAME("v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, F16),
    SAME("v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, F16),
    SAME("v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, F16),
    SAME("v_mfma_f32_32x32x8_f16", 32, 8, 1, F16),
    SAME("v_mfma_f32_16x16x16_f16", 16, 16, 1, F16),
    SAME("v_mfma_f32_16x16x32_f16", 16, 32, 1, F16),
    SAME("v_mfma_f32_32x32x16_f16", 32, 16, 1, F16),
    SAME("v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, Bf16),
    SAME("v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, Bf16),
    SAME("v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, Bf16),
    SAME("v_mfma_f32_32x32x8_bf16", 32, 8, 1, Bf16),
    SAME("v_mfma_f32_16x16x16_bf16", 16, 16, 1, Bf16),
    SAME("v_mfma_f32_16x16x32_bf16", 16, 32, 1, Bf16),
    SAME("v_mfma_f32_32x32x16_bf16", 32, 16, 1, Bf16),
    SAME("v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, I8),
    SAME("v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, I8),
    SAME("v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, I8),
    SAME("v_mfma_i32_32x32x16_i8", 32, 16, 1, I8),
    SAME("v_mfma_i32_16x16x32_i8", 16, 32, 1, I8),
    SAME("v_mfma_i32_16x16x64_i8", 16, 64, 1, I8),
    SAME("v_mfma_i32_32x32x32_i8", 32, 32, 1, I8),
    EIGHT("v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 4, 4),
    EIGHT("v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 4, 5),
    EIGHT("v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 5, 4),
    EIGHT("v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 5, 5),
    EIGHT("v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 4, 4),
    EIGHT("v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 4, 5),
    EIGHT("v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 5, 4),
    EIGHT("v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 5, 5),
    {"v_mfma_f64_16x16x4_f64", matrix_f64<16>},
    {"v_mfma_f64_4x4x4_4b_f64", matrix_f64<4>},
};

}  // namespace

Entries MLA_GFX_PATH::matrix_entries() {
  return entries;
}

}  // namespace mla::gfx
