// FLAT, GLOBAL, SCRATCH and MUBUF: loads, stores, and loads to LDS.
#include <bit>

#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/exec/fidelity.hpp"
#include "hip_backend/gfx_emulator/exec/memory/address-inl.hpp"
#include "hip_backend/gfx_emulator/exec/memory/memory-inl.hpp"

namespace mla::gfx {
namespace {

template <Space space, unsigned dwords>
void load(Wave& w, const Inst& i) {
  Lanewise from;
  if (lanewise<space>(w, i, 4 * dwords, Intent::read, from)) {
    return load_lanewise<dwords, shared_of<space>>(from, w.reg(i.dst));
  }
  LanePointers p;
  if (!resolve<space>(w, i, 4 * dwords, Intent::read, p)) {
    return load_by_dwords<dwords>(w, i);
  }
  load_rows<dwords, shared_of<space>>(p, w.reg(i.dst));
}

template <Space space, unsigned dwords>
void store(Wave& w, const Inst& i) {
  Lanewise to;
  if (lanewise<space>(w, i, 4 * dwords, Intent::write, to)) {
    return store_lanewise<dwords, shared_of<space>>(to, w.reg(i.src[1]));
  }
  LanePointers p;
  if (!resolve<space>(w, i, 4 * dwords, Intent::write, p)) {
    return store_by_dwords<dwords>(w, i);
  }
  store_rows<dwords, shared_of<space>>(p, w.reg(i.src[1]));
}

template <Space space, class T, Place place>
void load_part(Wave& w, const Inst& i) {
  LanePointers p;
  static_cast<void>(resolve<space>(w, i, sizeof(T), Intent::read, p));
  load_small<T, place, shared_of<space>>(p, w.reg(i.dst));
}

template <Space space, class T, bool high>
void store_part(Wave& w, const Inst& i) {
  LanePointers p;
  static_cast<void>(resolve<space>(w, i, sizeof(T), Intent::write, p));
  store_small<T, high, shared_of<space>>(p, w.reg(i.src[1]));
}

// From one place to the other without a register between.
template <unsigned dwords>
inline void copy_to_lds(std::byte* to, const Lanewise& from) {
  constexpr unsigned size = 4 * dwords;
  if (by_vectors<Shared::by_device> && consecutive(from.offset, size)) {
    std::memmove(to, from.base + from.offset[0], std::size_t{size} * lanes);
    return;
  }
  for (unsigned l = 0; l < lanes; ++l) {
    const std::byte* const lane = from.base + from.offset[l];
    if constexpr (by_vectors<Shared::by_device>) {
      std::memcpy(to + std::size_t{size} * l, lane, size);
    } else {
      for (unsigned k = 0; k < size; k += 4) {
        const u32 value = read_at<Shared::by_device, u32>(lane + k);
        std::memcpy(to + std::size_t{size} * l + k, &value, sizeof value);
      }
    }
  }
}

// The lanes of `exec` that a load to LDS may write. Assumption LDS_DMA_MASK: the others belong to a
// wave that the compiler masks by an M0 which is no address.
u64 lanes_to_write(Wave& w, const u32* offsets, u32 size) {
  const u64 exec = w.exec();
  Group& group = *w.group;
  if (w.s[code::m0] <= assumed::lds_address_mask) return exec;
  meet(w, Met::lds_dma_mask);
  u64 inside = 0;
  for (unsigned l = 0; l < lanes; ++l) inside |= u64{u64{offsets[l]} + size <= group.lds_size} << l;
  group.statistics.lds_loads_masked += static_cast<u64>(std::popcount(exec & ~inside));
  return exec & inside;
}

// Assumption LDS_DMA_ADDRESS.
template <Space space, class T, unsigned dwords>
void load_to_lds(Wave& w, const Inst& i) {
  const u32 base = (w.s[code::m0] & assumed::lds_address_mask) + static_cast<u32>(i.imm);
  constexpr u64 bytes = u64{4} * dwords * lanes;
  Group& group = *w.group;
  meet(w, Met::lds_dma);
  Lanewise direct;
  const bool simple = sizeof(T) == 4 && !group.watched && base + bytes <= group.lds_size;
  if (simple && lanewise<space>(w, i, 4 * dwords, Intent::read, direct)) {
    count_access(group.statistics, Intent::write, bytes, true);
    return copy_to_lds<dwords>(group.lds.data() + base, direct);
  }
  LanePointers from, to;
  alignas(64) u32 data[4 * lanes] = {};
  const bool whole = resolve<space>(w, i, sizeof(T) * dwords, Intent::read, from);
  if constexpr (sizeof(T) == 4) {
    if (whole) {
      load_rows<dwords, shared_of<space>>(from, data);
    } else {
      buffer_dwords<dwords>(w, i, data);
    }
  } else {
    load_small<T, Place::whole, shared_of<space>>(from, data);
  }
  u32 offsets[lanes];
  for (unsigned l = 0; l < lanes; ++l) offsets[l] = base + 4 * dwords * l;
  const u64 mask = lanes_to_write(w, offsets, 4 * dwords);
  if (mask == 0) return;
  resolve_lds(w, i, offsets, mask, 4 * dwords, Intent::write, to);
  store_rows<dwords>(to, data);
}

#define WORDS(prefix, space)                                                              \
  {prefix "load_dword", load<space, 1>}, {prefix "load_dwordx2", load<space, 2>},         \
      {prefix "load_dwordx3", load<space, 3>}, {prefix "load_dwordx4", load<space, 4>},   \
      {prefix "store_dword", store<space, 1>}, {prefix "store_dwordx2", store<space, 2>}, \
      {prefix "store_dwordx3", store<space, 3>}, {                                        \
    prefix "store_dwordx4", store<space, 4>                                               \
  }
#define PARTS(prefix, space)                                            \
  {prefix "load_ubyte", load_part<space, u8, Place::whole>},            \
      {prefix "load_sbyte", load_part<space, i8, Place::whole>},        \
      {prefix "load_ushort", load_part<space, u16, Place::whole>},      \
      {prefix "load_sshort", load_part<space, i16, Place::whole>},      \
      {prefix "load_ubyte_d16", load_part<space, u8, Place::low>},      \
      {prefix "load_sbyte_d16", load_part<space, i8, Place::low>},      \
      {prefix "load_short_d16", load_part<space, u16, Place::low>},     \
      {prefix "load_ubyte_d16_hi", load_part<space, u8, Place::high>},  \
      {prefix "load_sbyte_d16_hi", load_part<space, i8, Place::high>},  \
      {prefix "load_short_d16_hi", load_part<space, u16, Place::high>}, \
      {prefix "store_byte", store_part<space, u8, false>},              \
      {prefix "store_short", store_part<space, u16, false>},            \
      {prefix "store_byte_d16_hi", store_part<space, u8, true>}, {      \
    prefix "store_short_d16_hi", store_part<space, u16, true>           \
  }
#define TO_LDS(prefix, space)                                                \
  {prefix "load_lds_dword", load_to_lds<space, u32, 1>},                     \
      {prefix "load_lds_dwordx3", load_to_lds<space, u32, 3>, Only::gfx950}, \
      {prefix "load_lds_dwordx4", load_to_lds<space, u32, 4>, Only::gfx950}, \
      {prefix "load_lds_ubyte", load_to_lds<space, u8, 1>},                  \
      {prefix "load_lds_sbyte", load_to_lds<space, i8, 1>},                  \
      {prefix "load_lds_ushort", load_to_lds<space, u16, 1>}, {              \
    prefix "load_lds_sshort", load_to_lds<space, i16, 1>                     \
  }

const Entry entries[] = {
    WORDS("global_", Space::global),   PARTS("global_", Space::global),
    TO_LDS("global_", Space::global),  WORDS("flat_", Space::flat),
    PARTS("flat_", Space::flat),       WORDS("scratch_", Space::scratch),
    PARTS("scratch_", Space::scratch), TO_LDS("scratch_", Space::scratch),
    WORDS("buffer_", Space::buffer),   PARTS("buffer_", Space::buffer),
    TO_LDS("buffer_", Space::buffer),
};

}  // namespace

Entries MLA_GFX_PATH::memory_entries() {
  return entries;
}

}  // namespace mla::gfx
