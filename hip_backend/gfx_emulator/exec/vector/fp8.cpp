// Conversions between f32 and the 8-bit floats: FNUZ on gfx942, OCP on gfx950.
#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/exec/fp8-inl.hpp"

namespace mla::gfx {
namespace {

bool saturates(const Wave& w, const Inst& i) {
  return i.clamp || (w.mode >> assumed::fp16_ovfl_bit & 1) != 0;
}

// Two values to the low or (op_sel[3]) the high half of the destination; the other half is kept.
template <Fp8 kind>
void pack(Wave& w, const Inst& i) {
  const Source<float> a(w, i, 0), b(w, i, 1);
  const bool high = (i.op_sel & 8) != 0, saturate = saturates(w, i);
  const u32* const mask = lane_mask(w);
  u32* const to = w.reg(i.dst);
  alignas(64) u32 out[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 pair = encode_fp8<kind>(a[l], saturate, false, 0) |
                     encode_fp8<kind>(b[l], saturate, false, 0) << 8;
    out[l] = high ? (to[l] & 0xffff) | pair << 16 : (to[l] & 0xffff0000) | pair;
  }
  MLA_GFX_LANES {
    to[l] = (out[l] & mask[l]) | (to[l] & ~mask[l]);
  }
}

template <Fp8 kind>
void stochastic(Wave& w, const Inst& i) {
  const Source<float> a(w, i, 0);
  const Source<u32> random(w, i, 1);
  const unsigned shift = 8U * (i.op_sel >> 2 & 3);
  const bool saturate = saturates(w, i);
  u32* const to = w.reg(i.dst);
  const u64 exec = w.exec();
  for (unsigned l = 0; l < lanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const u32 byte = encode_fp8<kind>(a[l], saturate, true, random[l]);
    to[l] = (to[l] & ~(0xffU << shift)) | byte << shift;
  }
}

template <Fp8 kind>
void unpack_one(Wave& w, const Inst& i) {
  const Source<u32> a(w, i, 0);
  const unsigned shift = i.sdwa ? 0 : 8U * (i.op_sel & 3);
  store_lanes<float, false>(
      w, i, [&](unsigned l) { return fp8_table<kind>.values[a[l] >> shift & 0xff]; });
}

template <Fp8 kind>
void unpack_two(Wave& w, const Inst& i) {
  const Source<u32> a(w, i, 0);
  const unsigned shift = i.sdwa ? 0 : 16U * (i.op_sel & 1);
  store_lanes<u64, false>(w, i, [&](unsigned l) {
    const u32 pair = a[l] >> shift;
    return u64{bits_of(fp8_table<kind>.values[pair & 0xff])} |
           u64{bits_of(fp8_table<kind>.values[pair >> 8 & 0xff])} << 32;
  });
}

const Entry entries[] = {
    {"v_cvt_pk_fp8_f32", pack<Fp8::e4m3_fnuz>, Only::gfx942},
    {"v_cvt_pk_bf8_f32", pack<Fp8::e5m2_fnuz>, Only::gfx942},
    {"v_cvt_pk_fp8_f32", pack<Fp8::e4m3_ocp>, Only::gfx950},
    {"v_cvt_pk_bf8_f32", pack<Fp8::e5m2_ocp>, Only::gfx950},
    {"v_cvt_sr_fp8_f32", stochastic<Fp8::e4m3_fnuz>, Only::gfx942},
    {"v_cvt_sr_bf8_f32", stochastic<Fp8::e5m2_fnuz>, Only::gfx942},
    {"v_cvt_sr_fp8_f32", stochastic<Fp8::e4m3_ocp>, Only::gfx950},
    {"v_cvt_sr_bf8_f32", stochastic<Fp8::e5m2_ocp>, Only::gfx950},
    {"v_cvt_f32_fp8", unpack_one<Fp8::e4m3_fnuz>, Only::gfx942},
    {"v_cvt_f32_bf8", unpack_one<Fp8::e5m2_fnuz>, Only::gfx942},
    {"v_cvt_f32_fp8", unpack_one<Fp8::e4m3_ocp>, Only::gfx950},
    {"v_cvt_f32_bf8", unpack_one<Fp8::e5m2_ocp>, Only::gfx950},
    {"v_cvt_pk_f32_fp8", unpack_two<Fp8::e4m3_fnuz>, Only::gfx942},
    {"v_cvt_pk_f32_bf8", unpack_two<Fp8::e5m2_fnuz>, Only::gfx942},
    {"v_cvt_pk_f32_fp8", unpack_two<Fp8::e4m3_ocp>, Only::gfx950},
    {"v_cvt_pk_f32_bf8", unpack_two<Fp8::e5m2_ocp>, Only::gfx950},
};

}  // namespace

Entries MLA_GFX_PATH::fp8_entries() {
  return entries;
}

}  // namespace mla::gfx
