// Atomics of FLAT, GLOBAL and MUBUF.
#include "hip_backend/gfx_emulator/exec/memory/address-inl.hpp"
#include "hip_backend/gfx_emulator/exec/memory/atomic-inl.hpp"

namespace mla::gfx {
namespace {

template <Space space, class T, class F>
void atomic(Wave& w, const Inst& i) {
  constexpr bool compares = std::is_same_v<F, AtomicCompareSwap>;
  constexpr unsigned rows = sizeof(T) / 4;
  LanePointers p;
  if (!resolve<space>(w, i, sizeof(T), Intent::update, p)) p.active = 0;
  require_alignment(w, i, sizeof(T), p);
  alignas(64) u32 data[4 * lanes];
  std::copy_n(w.reg(i.src[1]), rows * (compares ? 2 : 1) * lanes, data);
  u32* const old = i.dst == code::none ? nullptr : w.reg(i.dst);
  atomic_rows<T, F>(p, data, compares ? data + rows * lanes : nullptr, old);
}

#define ATOMICS(prefix, space)                                                                    \
  {prefix "swap", atomic<space, u32, AtomicSwap>},                                                \
      {prefix "cmpswap", atomic<space, u32, AtomicCompareSwap>},                                  \
      {prefix "add", atomic<space, u32, AtomicAdd>},                                              \
      {prefix "sub", atomic<space, u32, AtomicSub>},                                              \
      {prefix "smin", atomic<space, i32, AtomicMin>},                                             \
      {prefix "umin", atomic<space, u32, AtomicMin>},                                             \
      {prefix "smax", atomic<space, i32, AtomicMax>},                                             \
      {prefix "umax", atomic<space, u32, AtomicMax>},                                             \
      {prefix "and", atomic<space, u32, AtomicAnd>}, {prefix "or", atomic<space, u32, AtomicOr>}, \
      {prefix "xor", atomic<space, u32, AtomicXor>},                                              \
      {prefix "inc", atomic<space, u32, AtomicIncrement>},                                        \
      {prefix "dec", atomic<space, u32, AtomicDecrement>},                                        \
      {prefix "add_f32", atomic<space, float, AtomicAdd>},                                        \
      {prefix "pk_add_f16", atomic<space, u32, AtomicAddHalves>},                                 \
      {prefix "pk_add_bf16", atomic<space, u32, AtomicAddBrains>},                                \
      {prefix "add_f64", atomic<space, double, AtomicAdd>},                                       \
      {prefix "min_f64", atomic<space, double, AtomicMin>},                                       \
      {prefix "max_f64", atomic<space, double, AtomicMax>},                                       \
      {prefix "swap_x2", atomic<space, u64, AtomicSwap>},                                         \
      {prefix "cmpswap_x2", atomic<space, u64, AtomicCompareSwap>},                               \
      {prefix "add_x2", atomic<space, u64, AtomicAdd>},                                           \
      {prefix "sub_x2", atomic<space, u64, AtomicSub>},                                           \
      {prefix "smin_x2", atomic<space, i64, AtomicMin>},                                          \
      {prefix "umin_x2", atomic<space, u64, AtomicMin>},                                          \
      {prefix "smax_x2", atomic<space, i64, AtomicMax>},                                          \
      {prefix "umax_x2", atomic<space, u64, AtomicMax>},                                          \
      {prefix "and_x2", atomic<space, u64, AtomicAnd>},                                           \
      {prefix "or_x2", atomic<space, u64, AtomicOr>},                                             \
      {prefix "xor_x2", atomic<space, u64, AtomicXor>},                                           \
      {prefix "inc_x2", atomic<space, u64, AtomicIncrement>}, {                                   \
    prefix "dec_x2", atomic<space, u64, AtomicDecrement>                                          \
  }

const Entry entries[] = {
    ATOMICS("global_atomic_", Space::global),
    ATOMICS("flat_atomic_", Space::flat),
    ATOMICS("buffer_atomic_", Space::buffer),
};

}  // namespace

Entries MLA_GFX_PATH::memory_atomic_entries() {
  return entries;
}

}  // namespace mla::gfx
