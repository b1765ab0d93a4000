// gfx950: matrix instructions whose sources are e4m3, e5m2, e2m3, e3m2 or e2m1 (CBSZ for A, BLGP
// for B), plain or with a scale of 2^(byte - 127) for every 32 k. Assumption F8F6F4_K.
#include "hip_backend/gfx_emulator/exec/matrix-inl.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/gfx_emulator/exec/small_float-inl.hpp"

namespace mla::gfx {
namespace {

enum Format : unsigned { e4m3, e5m2, e2m3, e3m2, e2m1 };

inline u32 bits_at(const u32* first, unsigned lane, unsigned bit, unsigned size) {
  const u32* const word = first + std::size_t{bit / 32} * lanes;
  u64 pair = word[lane];
  if (bit % 32 + size > 32) pair |= u64{word[lanes + lane]} << 32;
  return static_cast<u32>(pair >> bit % 32) & ((1U << size) - 1);
}

template <class S>
void unpack_small(const u32* first, unsigned format, Tiles<S, float>& out) {
  const SmallFormat small = format_of(format == e2m3   ? Small::fp6
                                      : format == e3m2 ? Small::bf6
                                                       : Small::fp4);
  const unsigned size = small.size;
  for (unsigned l = 0; l < lanes; ++l) {
    for (unsigned e = 0; e < 32; ++e) {
      const u32 bits = bits_at(first, l, size * e, size);
      out.values[0][l / S::rows * 32 + e][l % S::rows] = decode_small(bits, small);
    }
  }
}

template <class S>
void unpack_any(Wave& w, std::uint16_t source, unsigned format, Tiles<S, float>& out) {
  const u32* const first = w.reg(source);
  if (format == e4m3) return unpack<S, Float8<Fp8::e4m3_ocp>>(first, 0, out);
  if (format == e5m2) return unpack<S, Float8<Fp8::e5m2_ocp>>(first, 0, out);
  unpack_small<S>(first, format, out);
}

inline bool of_bytes(unsigned format) {
  return format == e4m3 || format == e5m2;
}

// The k of element e of a lane group: bytes are two runs of 16, half of all k apart.
template <class S>
unsigned k_of(unsigned group, unsigned e, unsigned format) {
  return of_bytes(format) ? 16 * group + e % 16 + S::depth / 2 * (e / 16) : 32 * group + e;
}

// Tiles hold the k as they lie in the registers. That is one order for A and B, and the order of a
// sum is free, unless one of the two has bytes.
template <class S>
void to_order_of_k(unsigned format, Tiles<S, float>& tiles) {
  const Tiles<S, float> from = tiles;
  for (unsigned n = 0; n < S::depth; ++n) {
    std::copy_n(from.values[0][n], S::rows, tiles.values[0][k_of<S>(n / 32, n % 32, format)]);
  }
}

template <class S>
void apply_scale(Wave& w, const Inst& i, std::uint16_t source, unsigned k, unsigned format,
                 Tiles<S, float>& out) {
  alignas(64) u32 words[lanes];
  if (source >= code::vgpr) {
    std::copy_n(w.reg(source), lanes, words);
  } else {
    std::fill_n(words, lanes, read_scalar(w, i, source));
  }
  const unsigned byte = (i.op_sel >> k & 1) + 2 * (i.op_sel_hi >> k & 1);
  float scales[lanes / S::rows][S::rows];
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 exponent = words[l] >> 8 * byte & 0xff;
    scales[l / S::rows][l % S::rows] = exponent == 0xff ? float_of(0x7fc00000)
                                       : exponent == 0  ? 0x1p-127F
                                                        : float_of(exponent << 23);
  }
  for (unsigned n = 0; n < S::depth; ++n) {
    const float* const scale = scales[k_of<S>(n / 32, n % 32, format) / 32];
    for (unsigned row = 0; row < S::rows; ++row) out.values[0][n][row] *= scale[row];
  }
}

template <class S>
void matrix_small(Wave& w, const Inst& i) {
  keep_denormals(w);
  if (i.cbsz > e2m1 || i.blgp > e2m1) {
    report_fault(w, i, Problem::bad_operand, -1, 0, "this source format does not exist");
    return;
  }
  count_flops(w, MatrixType::byte, u64{S::rows} * S::rows * S::depth * S::blocks);
  Tiles<S, float> a, b;
  unpack_any<S>(w, i.src[0], i.cbsz, a);
  unpack_any<S>(w, i.src[1], i.blgp, b);
  if (i.src[3] != code::none) {
    apply_scale<S>(w, i, i.src[3], 0, i.cbsz, a);
    apply_scale<S>(w, i, i.sdst, 1, i.blgp, b);
  }
  if (of_bytes(i.cbsz) != of_bytes(i.blgp)) {
    to_order_of_k<S>(i.cbsz, a);
    to_order_of_k<S>(i.blgp, b);
  }
  Inst plain = i;
  plain.cbsz = 0;
  multiply<S, F32, F32>(w, plain, a, b);
}

const Entry entries[] = {
    {"v_mfma_f32_16x16x128_f8f6f4", matrix_small<Shape<16, 128, 1>>, Only::gfx950},
    {"v_mfma_f32_32x32x64_f8f6f4", matrix_small<Shape<32, 64, 1>>, Only::gfx950},
};

}  // namespace

Entries MLA_GFX_PATH::matrix_f8f6f4_entries() {
  return entries;
}

}  // namespace mla::gfx
