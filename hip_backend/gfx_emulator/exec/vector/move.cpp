// Moves: registers, lanes to scalars and back, accumulation registers, swaps between lanes, and
// lane counting.
#include <algorithm>

#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"

namespace mla::gfx {
namespace {

void select(Wave& w, const Inst& i) {
  const Source<u32> a(w, i, 0), b(w, i, 1);
  const u64 chosen = read_scalar64(w, i, i.src[2]);
  alignas(64) u32 mask[lanes];
  MLA_GFX_LANES {
    mask[l] = 0U - static_cast<u32>(chosen >> l & 1);
  }
  store_lanes<u32, false>(w, i, [&](unsigned l) { return (b[l] & mask[l]) | (a[l] & ~mask[l]); });
}

unsigned first_lane(const Wave& w) {
  return w.exec() == 0 ? 0 : static_cast<unsigned>(std::countr_zero(w.exec()));
}

u32 lane_value(Wave& w, const Inst& i, unsigned lane) {
  if (i.src[0] < code::vgpr) return read_scalar(w, i, i.src[0]);
  return w.reg(i.src[0])[lane];
}

void read_first_lane(Wave& w, const Inst& i) {
  write_scalar(w, i.dst, lane_value(w, i, first_lane(w)));
}
void read_lane(Wave& w, const Inst& i) {
  write_scalar(w, i.dst, lane_value(w, i, read_scalar(w, i, i.src[1]) & 63));
}
void write_lane(Wave& w, const Inst& i) {
  w.reg(i.dst)[read_scalar(w, i, i.src[1]) & 63] = read_scalar(w, i, i.src[0]);
}

template <bool high>
void count_lanes_below(Wave& w, const Inst& i) {
  const Source<u32> a(w, i, 0), b(w, i, 1);
  store_lanes<u32, false>(w, i, [&](unsigned l) {
    const u64 below = (u64{1} << l) - 1;
    const u32 part = static_cast<u32>(high ? below >> 32 : below);
    return static_cast<u32>(std::popcount(a[l] & part)) + b[l];
  });
}

// Both registers are read before either is written.
void swap_registers(Wave& w, const Inst& i) {
  const u32* const mask = lane_mask(w);
  u32* const a = w.reg(i.dst);
  u32* const b = w.reg(i.src[0]);
  MLA_GFX_LANES {
    const u32 changed = (a[l] ^ b[l]) & mask[l];
    a[l] ^= changed;
    b[l] ^= changed;
  }
}

// The upper half of each block of the destination changes places with the lower half of the
// source. Assumption PERMLANE_SWAP_EXEC.
template <unsigned half>
void swap_halves(Wave& w, const Inst& i) {
  u32* const a = w.reg(i.dst);
  u32* const b = w.reg(i.src[0]);
  for (std::size_t block = 0; block < lanes; block += std::size_t{2} * half) {
    std::swap_ranges(a + block + half, a + block + half + half, b + block);
  }
}

void nothing(Wave&, const Inst&) {}

const Entry entries[] = {
    {"v_nop", nothing},
    {"v_clrexcp", nothing},
    {"v_mov_b32", each_lane([](u32 a) { return a; })},
    {"v_mov_b64", each_lane([](u64 a) { return a; })},
    {"v_accvgpr_read_b32", each_lane([](u32 a) { return a; })},
    {"v_accvgpr_write_b32", each_lane([](u32 a) { return a; })},
    {"v_accvgpr_mov_b32", each_lane([](u32 a) { return a; })},
    {"v_cndmask_b32", select},
    {"v_readfirstlane_b32", read_first_lane},
    {"v_readlane_b32", read_lane},
    {"v_writelane_b32", write_lane},
    {"v_mbcnt_lo_u32_b32", count_lanes_below<false>},
    {"v_mbcnt_hi_u32_b32", count_lanes_below<true>},
    {"v_swap_b32", swap_registers},
    {"v_permlane16_swap_b32", swap_halves<16>},
    {"v_permlane32_swap_b32", swap_halves<32>},
};

}  // namespace

Entries MLA_GFX_PATH::move_entries() {
  return entries;
}

}  // namespace mla::gfx
