// Multiply-adds of f16 pairs. Compiled for AVX-512 too, beside the paths of every family.
#include "hip_backend/gfx_emulator/exec/packed_half-inl.hpp"

namespace mla::gfx {
namespace {

// A packed source: the register itself, or a copy with halves chosen and negated.
struct HalfPairs {
  const u32* words;
  alignas(64) u32 copy[lanes];

  HalfPairs(Wave& w, const Inst& i, unsigned k) {
    const bool in_place = i.src[k] >= code::vgpr;
    const unsigned low = (i.op_sel >> k & 1) * 16U, high = (i.op_sel_hi >> k & 1) * 16U;
    const u32 signs = (i.neg >> k & 1U) << 15 | (i.abs >> k & 1U) << 31;
    words = in_place ? w.reg(i.src[k]) : copy;
    if (!in_place) fetch(w, i, k, Kind::packed, copy);
    if (low == 0 && high == 16 && signs == 0) return;
    const u32* const from = words;
    MLA_GFX_LANES {
      copy[l] = ((from[l] >> low & 0xffff) | from[l] >> high << 16) ^ signs;
    }
    words = copy;
  }
};

// Of NaN the first one goes on; a compiler may exchange the operands of sums and products.
inline float fused_in_order(Half a, Half b, Half c) {
  const float left = to_float(a), right = to_float(b), product = left * right;
  if (is_nan(left)) return left;
  if (is_nan(right)) return right;
  return is_nan(product) ? product : fused_half(a, b, c);
}

// One after the other, with clamp and as MODE says.
void fuse_halves(const Wave& w, const Inst& i, const u32* a, const u32* b, const u32* c, u32* out) {
  const auto part = [&](unsigned l, unsigned shift) {
    const auto half = [&](u32 word) { return Half{static_cast<u16>(word >> shift)}; };
    const float value = fused_in_order(half(a[l]), half(b[l]), half(c[l]));
    return u32{rounded_half(w, i.clamp ? clamped(w, value) : value).bits} << shift;
  };
  for (unsigned l = 0; l < lanes; ++l) out[l] = part(l, 0) | part(l, 16);
}

void pk_fma_f16(Wave& w, const Inst& i) {
  use_half_rounding(w);
  const HalfPairs a(w, i, 0), b(w, i, 1), c(w, i, 2);
  u32* const to = w.reg(i.dst);
  alignas(64) u32 buffer[lanes];
  u32* const out = all_lanes(w) ? to : buffer;
#if defined(MLA_GFX_HALF_PAIRS)
  if (i.clamp || rounds_halves_otherwise(w))
    fuse_halves(w, i, a.words, b.words, c.words, out);
  else
    fuse_pairs(a.words, b.words, c.words, out);
#else
  fuse_halves(w, i, a.words, b.words, c.words, out);
#endif
  if (out == to) return;
  const u32* const mask = lane_mask(w);
  MLA_GFX_LANES {
    to[l] = (out[l] & mask[l]) | (to[l] & ~mask[l]);
  }
}

const Entry entries[] = {{"v_pk_fma_f16", pk_fma_f16}};

}  // namespace

Entries MLA_GFX_PATH::packed_half_entries() {
  return entries;
}

}  // namespace mla::gfx
