// Products with more than 32 bits, 64-bit shifts, and the truth table operation.
#include <limits>

#include "hip_backend/gfx_emulator/exec/lanes-inl.hpp"

namespace mla::gfx {
namespace {

inline i64 low24(u32 a) {
  return static_cast<i32>(a << 8) >> 8;
}

inline u32 table(u32 a, u32 b, u32 c, u32 truth) {
  u32 out = 0;
  for (unsigned k = 0; k < 8; ++k) {
    const u32 chosen = 0U - (truth >> k & 1);
    out |= chosen & ((k & 4) != 0 ? a : ~a) & ((k & 2) != 0 ? b : ~b) & ((k & 1) != 0 ? c : ~c);
  }
  return out;
}

template <class T>
void bitop3(Wave& w, const Inst& i) {
  const Source<T> a(w, i, 0), b(w, i, 1), c(w, i, 2);
  const auto truth = static_cast<u32>(i.imm);
  store_lanes<T, sizeof(T) == 2>(
      w, i, [&](unsigned l) { return static_cast<T>(table(a[l], b[l], c[l], truth)); });
}

// v_mad_u64_u32 and v_mad_i64_i32: bit 64 of the sum goes to a scalar pair: the carry, or the sign.
// Clamp limits the result to what 64 bits hold, and leaves that bit as it is.
template <class T, class Wide>
void multiply_add(Wave& w, const Inst& i) {
  const Source<T> a(w, i, 0), b(w, i, 1);
  const Source<Wide> c(w, i, 2);
  u64 flags = 0;
  Wide out[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    const Wide product = static_cast<Wide>(a[l]) * static_cast<Wide>(b[l]);
    const bool over = __builtin_add_overflow(product, c[l], &out[l]);
    const bool negative = std::is_signed_v<Wide> && static_cast<i64>(out[l]) < 0;
    const bool bit_64 = over != negative;
    flags |= u64{bit_64} << l;
    if (!i.clamp || !over) continue;
    using Limits = std::numeric_limits<Wide>;
    out[l] = std::is_signed_v<Wide> && bit_64 ? Limits::min() : Limits::max();
  }
  store_lanes<Wide, false>(w, i, [&](unsigned l) { return out[l]; });
  write_mask(w, i, flags);
}

const Entry entries[] = {
    {"v_mul_hi_u32", each_lane([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })},
    {"v_mul_hi_i32", each_lane([](i32 a, i32 b) { return static_cast<u32>(i64{a} * b >> 32); })},
    {"v_mul_hi_u32_u24", each_lane([](u32 a, u32 b) {
       return static_cast<u32>(u64{a & 0xffffff} * (b & 0xffffff) >> 32);
     })},
    {"v_mul_hi_i32_i24",
     each_lane([](u32 a, u32 b) { return static_cast<u32>(low24(a) * low24(b) >> 32); })},
    {"v_lshlrev_b64", each_lane([](u32 a, u64 b) { return b << (a & 63); })},
    {"v_lshrrev_b64", each_lane([](u32 a, u64 b) { return b >> (a & 63); })},
    {"v_ashrrev_i64", each_lane([](u32 a, i64 b) { return b >> (a & 63); })},
    {"v_lshl_add_u64", each_lane([](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; })},
    {"v_mad_u64_u32", multiply_add<u32, u64>},
    {"v_mad_i64_i32", multiply_add<i32, i64>},
    {"v_bitop3_b32", bitop3<u32>},
    {"v_bitop3_b16", bitop3<u16>},
};

}  // namespace

Entries MLA_GFX_PATH::integer_wide_entries() {
  return entries;
}

}  // namespace mla::gfx
