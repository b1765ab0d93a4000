// DS: atomics, with and without a returned value.
#include "hip_backend/gfx_emulator/exec/memory/atomic-inl.hpp"

namespace mla::gfx {
namespace {

template <class T, class F>
void atomic(Wave& w, const Inst& i) {
  constexpr bool two = std::is_same_v<F, AtomicCompareSwap> || std::is_same_v<F, AtomicMaskOr> ||
                       std::is_same_v<F, AtomicWrap>;
  constexpr unsigned rows = sizeof(T) / 4;
  alignas(64) u32 offsets[lanes];
  alignas(64) u32 first[2 * lanes];
  alignas(64) u32 second[2 * lanes];
  const u32* const address = w.reg(i.src[0]);
  // Taken for aligned, since no source at hand says what an unaligned address of it does.
  constexpr u32 kept = std::is_same_v<F, AtomicConditionalSwap> ? ~7U : ~0U;
  MLA_GFX_LANES {
    offsets[l] = (address[l] + static_cast<u32>(i.imm)) & kept;
  }
  LanePointers p;
  resolve_lds(w, i, offsets, w.exec(), sizeof(T), Intent::update, p);
  require_alignment(w, i, sizeof(T), p);
  std::copy_n(w.reg(i.src[1]), rows * lanes, first);
  if (two) std::copy_n(w.reg(i.src[2]), rows * lanes, second);
  u32* const old = i.dst == code::none ? nullptr : w.reg(i.dst);
  // The comparison comes first and the new value second; a masked or has the mask first.
  constexpr bool compares = std::is_same_v<F, AtomicCompareSwap>;
  atomic_rows<T, F>(p, compares ? second : first, compares ? first : two ? second : nullptr, old);
}

// Two places, each with its data; the first exchange of all lanes comes before the second. Offsets
// count elements, or 64 elements.
template <class T, unsigned scale>
void exchange_two(Wave& w, const Inst& i) {
  constexpr unsigned rows = sizeof(T) / 4;
  // The result may overlap the address and the data.
  alignas(64) u32 offsets[lanes], data[rows * lanes], old[2][rows * lanes];
  alignas(64) u32 address[lanes], later[rows * lanes];
  std::copy_n(w.reg(i.src[0]), lanes, address);
  std::copy_n(w.reg(i.src[1]), rows * lanes, data);
  std::copy_n(w.reg(i.src[2]), rows * lanes, later);
  u32* const to = w.reg(i.dst);
  for (unsigned k = 0; k < 2; ++k) {
    const u32 offset = (k == 0 ? static_cast<u32>(i.imm) : i.offset1) * sizeof(T) * scale;
    MLA_GFX_LANES {
      offsets[l] = address[l] + offset;
    }
    LanePointers p;
    resolve_lds(w, i, offsets, w.exec(), sizeof(T), Intent::update, p);
    require_alignment(w, i, sizeof(T), p);
    std::copy_n(to + std::size_t{k} * rows * lanes, rows * lanes, old[k]);
    atomic_rows<T, AtomicSwap>(p, k == 0 ? data : later, nullptr, old[k]);
  }
  std::copy_n(old[0], 2 * rows * lanes, to);
}

#define INTEGER(name, suffix, T32, T64, F)                                                        \
  {"ds_" name "_" suffix "32", atomic<T32, F>}, {"ds_" name "_rtn_" suffix "32", atomic<T32, F>}, \
      {"ds_" name "_" suffix "64", atomic<T64, F>}, {                                             \
    "ds_" name "_rtn_" suffix "64", atomic<T64, F>                                                \
  }

const Entry entries[] = {
    INTEGER("add", "u", u32, u64, AtomicAdd),
    INTEGER("sub", "u", u32, u64, AtomicSub),
    INTEGER("rsub", "u", u32, u64, AtomicReverseSub),
    INTEGER("inc", "u", u32, u64, AtomicIncrement),
    INTEGER("dec", "u", u32, u64, AtomicDecrement),
    INTEGER("min", "i", i32, i64, AtomicMin),
    INTEGER("max", "i", i32, i64, AtomicMax),
    INTEGER("min", "u", u32, u64, AtomicMin),
    INTEGER("max", "u", u32, u64, AtomicMax),
    INTEGER("and", "b", u32, u64, AtomicAnd),
    INTEGER("or", "b", u32, u64, AtomicOr),
    INTEGER("xor", "b", u32, u64, AtomicXor),
    INTEGER("mskor", "b", u32, u64, AtomicMaskOr),
    INTEGER("cmpst", "b", u32, u64, AtomicCompareSwap),
    INTEGER("cmpst", "f", float, double, AtomicCompareSwap),
    INTEGER("min", "f", float, double, AtomicMin),
    INTEGER("max", "f", float, double, AtomicMax),
    INTEGER("add", "f", float, double, AtomicAdd),
    {"ds_wrxchg_rtn_b32", atomic<u32, AtomicSwap>},
    {"ds_wrxchg_rtn_b64", atomic<u64, AtomicSwap>},
    {"ds_wrxchg2_rtn_b32", exchange_two<u32, 1>},
    {"ds_wrxchg2_rtn_b64", exchange_two<u64, 1>},
    {"ds_wrxchg2st64_rtn_b32", exchange_two<u32, 64>},
    {"ds_wrxchg2st64_rtn_b64", exchange_two<u64, 64>},
    {"ds_wrap_rtn_b32", atomic<u32, AtomicWrap>},
    {"ds_condxchg32_rtn_b64", atomic<u64, AtomicConditionalSwap>},
    {"ds_pk_add_f16", atomic<u32, AtomicAddHalves>},
    {"ds_pk_add_rtn_f16", atomic<u32, AtomicAddHalves>},
    {"ds_pk_add_bf16", atomic<u32, AtomicAddBrains>},
    {"ds_pk_add_rtn_bf16", atomic<u32, AtomicAddBrains>},
};

}  // namespace

Entries MLA_GFX_PATH::lds_atomic_entries() {
  return entries;
}

}  // namespace mla::gfx
