// Owns: the addresses of vector memory instructions.
// Included once for each host path, like lanes-inl.hpp.
//
// Buffers: descriptor of four dwords: base (48 bits), stride (14), number of records, flags. What
// lies past the records reads as zero and is not written, dword by dword. The address is base +
// scalar offset + offset + index * stride; a descriptor that asks for another order is a fault.
#pragma once

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/memory/memory-inl.hpp"

namespace mla::gfx {
namespace {

enum class Space : u8 { global, flat, scratch, buffer };

template <Space space>
inline constexpr Shared shared_of =
    space == Space::scratch ? Shared::by_workgroup : Shared::by_device;

struct Buffer {
  u64 base;
  u32 stride, records, soffset;
};

// Bits of the descriptor by which addresses are not linear: SWIZZLE_ENABLE, ADD_TID_ENABLE.
constexpr u32 swizzle_enable = u32{1} << 31, add_tid_enable = u32{1} << 23;

inline bool is_linear(const Wave& w, const Inst& i) {
  const u32* const words = w.s + i.src[2];
  return ((words[1] & swizzle_enable) | (words[3] & add_tid_enable)) == 0;
}

inline Buffer buffer_of(const Wave& w, const Inst& i) {
  const u32* const words = w.s + i.src[2];
  return {.base = words[0] | static_cast<u64>(words[1] & 0xffff) << 32,
          .stride = words[1] >> 16 & 0x3fff,
          .records = words[2],
          .soffset = read_scalar(w, i, i.src[3])};
}

// Offsets of the lanes in the buffer, without the scalar offset, and the lanes that fit whole.
inline u64 buffer_offsets(Wave& w, const Inst& i, const Buffer& buffer, u32 size, u64* offsets) {
  const u32* const first = i.src[0] == code::none ? nullptr : w.reg(i.src[0]);
  const u32* const offset = i.offen ? first + (i.idxen ? lanes : 0) : nullptr;
  u64 inside = 0;
  for (unsigned l = 0; l < lanes; ++l) {
    const u64 index = i.idxen ? first[l] : 0;
    const u64 in_record = static_cast<u64>(i.imm) + (offset != nullptr ? offset[l] : 0);
    offsets[l] = in_record + index * buffer.stride;
    // A structured buffer counts records, a raw one bytes.
    const bool structured = buffer.stride != 0 && i.idxen;
    const bool fits =
        structured ? index < buffer.records : offsets[l] + buffer.soffset + size <= buffer.records;
    inside |= u64{fits} << l;
  }
  return inside;
}

// All lanes in one range: no need to look at each.
inline bool all_in_one_range(Wave& w, const u64* at, u32 size, Intent intent, LanePointers& p) {
  i64 low = static_cast<i64>(at[0]), high = low;
  for (unsigned l = 0; l < lanes; ++l) {
    const auto address = static_cast<i64>(at[l]);
    low = address < low ? address : low;
    high = address > high ? address : high;
  }
  const u64 extent = static_cast<u64>(high) - static_cast<u64>(low) + size;
  if (low < 0 || !allowed(w, static_cast<u64>(low), extent, intent)) return false;
  p.active = ~u64{0};
  p.zeroed = 0;
  std::memcpy(p.at, at, sizeof p.at);
  count_access(w.group->statistics, intent, u64{lanes} * size, false);
  return true;
}

inline void resolve_lanes(Wave& w, const Inst& i, const u64* at, u64 mask, u32 size, Intent intent,
                          bool flat, LanePointers& p) {
  if (mask != ~u64{0} || !all_in_one_range(w, at, size, intent, p)) {
    resolve_global(w, i, at, mask, size, intent, flat, p);
  }
  GlobalWatch* const watch = w.group->global_watch;
  if (watch != nullptr) watch->global_access(w, i, at, p.active, size, intent);
}

// The lanes that fit whole; the others read zero, and write nothing.
inline void resolve_whole(Wave& w, const Inst& i, const Buffer& buffer, u64* offsets, u64 inside,
                          u32 size, Intent intent, LanePointers& p) {
  const u64 exec = w.exec();
  if (inside != exec && w.group->launch->request->options.checks.dropped && i.offen && !i.idxen) {
    report_dropped(w, i, w.reg(i.src[0]), exec & ~inside, size, intent);
  }
  MLA_GFX_LANES {
    offsets[l] += buffer.base + buffer.soffset;
  }
  resolve_lanes(w, i, offsets, inside, size, intent, false, p);
  p.zeroed |= exec & ~inside;
}

// False: some lanes reach past the end of the buffer, and go dword by dword.
inline bool resolve_buffer(Wave& w, const Inst& i, u32 size, Intent intent, LanePointers& p) {
  if (!is_linear(w, i)) {
    report_order_of_buffer(w, i);
    p.active = 0;
    p.zeroed = w.exec();
    return true;
  }
  const Buffer buffer = buffer_of(w, i);
  alignas(64) u64 offsets[lanes];
  const u64 exec = w.exec(), inside = buffer_offsets(w, i, buffer, size, offsets) & exec;
  // An atomic is never done in part.
  if (inside != exec && size > 4 && intent != Intent::update) return false;
  resolve_whole(w, i, buffer, offsets, inside, size, intent, p);
  return true;
}

inline void resolve_addresses(Wave& w, const Inst& i, u32 size, Intent intent, bool flat,
                              LanePointers& p) {
  alignas(64) u64 at[lanes];
  const u32* const v = w.reg(i.src[0]);
  const auto offset = static_cast<u64>(static_cast<i64>(i.imm));
  if (i.src[2] != code::none) {
    const u64 base = w.pair(i.src[2]) + offset;
    MLA_GFX_LANES {
      at[l] = base + v[l];
    }
  } else {
    MLA_GFX_LANES {
      at[l] = (v[l] | static_cast<u64>(v[lanes + l]) << 32) + offset;
    }
  }
  resolve_lanes(w, i, at, w.exec(), size, intent, flat, p);
}

// Buffers by offset and global memory by a scalar base, where all lanes are active and inside one
// range. False: the general way must look.
template <Space space>
inline bool lanewise(Wave& w, const Inst& i, u32 size, Intent intent, Lanewise& out) {
  if (space == Space::flat || space == Space::scratch || !all_lanes(w)) return false;
  if (w.group->global_watch != nullptr) return false;
  u64 base = 0;
  if constexpr (space == Space::buffer) {
    if (!i.offen || i.idxen || !is_linear(w, i)) return false;
  } else if (i.src[2] == code::none) {
    return false;
  }
  const u32* const offset = w.reg(i.src[0]);
  const Extent extent = extent_of(offset);
  if constexpr (space == Space::buffer) {
    const Buffer buffer = buffer_of(w, i);
    const u64 constant = static_cast<u64>(i.imm) + buffer.soffset;
    if (constant + extent.high + size > buffer.records) return false;
    base = buffer.base + constant;
  } else {
    base = w.pair(i.src[2]) + static_cast<u64>(static_cast<i64>(i.imm));
  }
  const u64 first = base + extent.low;
  if (!allowed(w, first, u64{extent.high} - extent.low + size, intent)) return false;
  count_access(w.group->statistics, intent, u64{lanes} * size, false);
  out = {reinterpret_cast<std::byte*>(base), offset};
  return true;
}

template <Space space>
inline bool resolve(Wave& w, const Inst& i, u32 size, Intent intent, LanePointers& p) {
  if constexpr (space == Space::buffer) {
    return resolve_buffer(w, i, size, intent, p);
  } else if constexpr (space == Space::scratch) {
    const u32 base = static_cast<u32>(i.imm) + (i.src[2] != code::none ? w.s[i.src[2]] : 0);
    u32 offsets[lanes];
    for (unsigned l = 0; l < lanes; ++l) {
      offsets[l] = base + (i.src[0] != code::none ? w.reg(i.src[0])[l] : 0);
    }
    resolve_scratch(w, i, offsets, w.exec(), size, intent, p);
    return true;
  } else {
    resolve_addresses(w, i, size, intent, space == Space::flat, p);
    return true;
  }
}

// Buffers whose end lies inside an access: each dword on its own.
template <unsigned dwords>
inline void buffer_dwords(Wave& w, const Inst& i, u32* to) {
  for (unsigned k = 0; k < dwords; ++k) {
    Inst one = i;
    one.imm += static_cast<std::int32_t>(4 * k);
    LanePointers p;
    static_cast<void>(resolve_buffer(w, one, 4, Intent::read, p));
    load_rows<1, Shared::by_device>(p, to + k * lanes);
  }
}
template <unsigned dwords>
inline void load_by_dwords(Wave& w, const Inst& i) {
  // The address register may be among the results.
  alignas(64) u32 data[dwords * lanes];
  std::copy_n(w.reg(i.dst), dwords * lanes, data);
  buffer_dwords<dwords>(w, i, data);
  std::copy_n(data, dwords * lanes, w.reg(i.dst));
}
template <unsigned dwords>
inline void store_by_dwords(Wave& w, const Inst& i) {
  for (unsigned k = 0; k < dwords; ++k) {
    Inst one = i;
    one.imm += static_cast<std::int32_t>(4 * k);
    LanePointers p;
    static_cast<void>(resolve_buffer(w, one, 4, Intent::write, p));
    store_rows<1, Shared::by_device>(p, w.reg(i.src[1]) + k * lanes);
  }
}

}  // namespace
}  // namespace mla::gfx
