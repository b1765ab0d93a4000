// 2^x of f32. Compiled for AVX-512 too, beside the paths of every family.
#include "hip_backend/gfx_emulator/exec/exp2-inl.hpp"

namespace mla::gfx {
namespace {

void exp2_of_wave(Wave& w, const Inst& i) {
  keep_denormals(w);
  const Source<float> a(w, i, 0);
#if defined(MLA_GFX_EXP2)
  alignas(64) u32 out[lanes];
  short_exp2_of_lanes(a.low, out);
  store_lanes<float, false>(w, i, [&](unsigned l) { return float_of(out[l]); });
#else
  store_lanes<float, false>(w, i, [&](unsigned l) { return exp2_of(a[l]); });
#endif
}

const Entry entries[] = {{"v_exp_f32", exp2_of_wave}, {"v_exp_legacy_f32", exp2_of_wave}};

}  // namespace

Entries MLA_GFX_PATH::exp2_entries() {
  return entries;
}

}  // namespace mla::gfx
