// DS: reads, writes, transposing reads, and permutations that never touch LDS.
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/memory/memory-inl.hpp"

namespace mla::gfx {
namespace {

inline void offsets_of(Wave& w, const Inst& i, u32 offset, u32* out) {
  const u32* const address = w.reg(i.src[0]);
  MLA_GFX_LANES {
    out[l] = address[l] + offset;
  }
}

inline void resolve_at(Wave& w, const Inst& i, u32 offset, u32 size, Intent intent,
                       LanePointers& p) {
  alignas(64) u32 offsets[lanes];
  offsets_of(w, i, offset, offsets);
  resolve_lds(w, i, offsets, w.exec(), size, intent, p);
}

template <unsigned dwords>
void read(Wave& w, const Inst& i) {
  Lanewise from;
  const u32* const address = w.reg(i.src[0]);
  if (lds_lanewise(w, address, static_cast<u32>(i.imm), 4 * dwords, Intent::read, from)) {
    return load_lanewise<dwords>(from, w.reg(i.dst));
  }
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm), 4 * dwords, Intent::read, p);
  load_rows<dwords>(p, w.reg(i.dst));
}

template <unsigned dwords>
void write(Wave& w, const Inst& i) {
  Lanewise to;
  const u32* const address = w.reg(i.src[0]);
  if (lds_lanewise(w, address, static_cast<u32>(i.imm), 4 * dwords, Intent::write, to)) {
    return store_lanewise<dwords>(to, w.reg(i.src[1]));
  }
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm), 4 * dwords, Intent::write, p);
  store_rows<dwords>(p, w.reg(i.src[1]));
}

template <class T, Place place>
void read_part(Wave& w, const Inst& i) {
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm), sizeof(T), Intent::read, p);
  load_small<T, place>(p, w.reg(i.dst));
}

template <class T, bool high>
void write_part(Wave& w, const Inst& i) {
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm), sizeof(T), Intent::write, p);
  store_small<T, high>(p, w.reg(i.src[1]));
}

// Two accesses whose offsets count elements (or 64 elements).
template <unsigned dwords, unsigned scale>
void read_two(Wave& w, const Inst& i) {
  LanePointers first, second;
  resolve_at(w, i, static_cast<u32>(i.imm) * 4 * dwords * scale, 4 * dwords, Intent::read, first);
  resolve_at(w, i, i.offset1 * 4U * dwords * scale, 4 * dwords, Intent::read, second);
  load_rows<dwords>(first, w.reg(i.dst));
  load_rows<dwords>(second, w.reg(i.dst) + std::size_t{dwords} * lanes);
}

template <unsigned dwords, unsigned scale>
void write_two(Wave& w, const Inst& i) {
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm) * 4 * dwords * scale, 4 * dwords, Intent::write, p);
  store_rows<dwords>(p, w.reg(i.src[1]));
  resolve_at(w, i, i.offset1 * 4U * dwords * scale, 4 * dwords, Intent::write, p);
  store_rows<dwords>(p, w.reg(i.src[2]));
}

// Assumption TRANSPOSED_READ, of parts of a byte: element j of lane n is element n % each of lane
// (16 / each) * j + n / each of its block of 16.
template <unsigned bits, unsigned dwords>
void read_transposed(Wave& w, const Inst& i) {
  constexpr unsigned each = 32 * dwords / bits, apart = 16 / each;
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm), 4 * dwords, Intent::read, p);
  alignas(64) u32 in[(dwords + 1) * lanes] = {};
  alignas(64) u32 out[(dwords + 1) * lanes] = {};
  load_rows<dwords>(p, in);
  for (unsigned l = 0; l < lanes; ++l) {
    const unsigned n = l % 16;
    for (unsigned j = 0; j < each; ++j) {
      const unsigned from = (l & ~15U) + apart * j + n / each, at = bits * (n % each);
      const u64 source =
          in[at / 32 * lanes + from] | static_cast<u64>(in[(at / 32 + 1) * lanes + from]) << 32;
      const u64 element = source >> at % 32 & ((u64{1} << bits) - 1);
      const unsigned to = bits * j;
      out[to / 32 * lanes + l] |= static_cast<u32>(element << to % 32);
      if (to % 32 + bits > 32) {
        out[(to / 32 + 1) * lanes + l] |= static_cast<u32>(element << to % 32 >> 32);
      }
    }
  }
  u32* const to = w.reg(i.dst);
  const u32* const mask = lane_mask(w);
  for (unsigned k = 0; k < dwords * lanes; ++k) {
    to[k] = (out[k] & mask[k % lanes]) | (to[k] & ~mask[k % lanes]);
  }
}

// The same where an element is whole bytes: those of a block are a matrix of 16 columns.
template <class Element, unsigned dwords>
void read_transposed(Wave& w, const Inst& i) {
  constexpr unsigned each = 4 * dwords / sizeof(Element), in_word = 4 / sizeof(Element);
  LanePointers p;
  resolve_at(w, i, static_cast<u32>(i.imm), 4 * dwords, Intent::read, p);
  alignas(64) Element in[each * lanes] = {};
  for (unsigned l = 0; l < lanes; ++l) {
    if ((p.active >> l & 1) != 0) std::memcpy(in + each * l, p.at[l], 4 * dwords);
  }
  u32* const to = w.reg(i.dst);
  const u32* const mask = lane_mask(w);
  for (unsigned k = 0; k < dwords; ++k) {
    for (unsigned block = 0; block < lanes; block += 16) {
      const Element* const from = in + each * block + 16 * in_word * k;
      u32* const row = to + k * lanes + block;
      const u32* const kept = mask + block;
      _Pragma("omp simd") for (unsigned n = 0; n < 16; ++n) {
        u32 word = 0;
        for (unsigned e = 0; e < in_word; ++e) {
          word |= static_cast<u32>(from[16 * e + n]) << 8 * sizeof(Element) * e;
        }
        row[n] = (word & kept[n]) | (row[n] & ~kept[n]);
      }
    }
  }
}

inline void store_masked(Wave& w, const Inst& i, const u32* out) {
  const u32* const mask = lane_mask(w);
  u32* const to = w.reg(i.dst);
  MLA_GFX_LANES {
    to[l] = (out[l] & mask[l]) | (to[l] & ~mask[l]);
  }
}

// Each lane pulls from the lane its address names; inactive lanes give zero.
void pull(Wave& w, const Inst& i) {
  const u32* const address = w.reg(i.src[0]);
  const u32* const data = w.reg(i.src[1]);
  const u32* const mask = lane_mask(w);
  alignas(64) u32 out[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 from = (address[l] + static_cast<u32>(i.imm)) >> 2 & 63;
    out[l] = data[from] & mask[from];
  }
  store_masked(w, i, out);
}

// Each lane pushes to the lane its address names; the highest lane wins.
void push(Wave& w, const Inst& i) {
  const u32* const address = w.reg(i.src[0]);
  const u32* const data = w.reg(i.src[1]);
  alignas(64) u32 out[lanes] = {};
  for (unsigned l = 0; l < lanes; ++l) {
    if ((w.exec() >> l & 1) != 0) out[(address[l] + static_cast<u32>(i.imm)) >> 2 & 63] = data[l];
  }
  store_masked(w, i, out);
}

// From 0xe000 on the order of an FFT, from 0xc000 a rotation; bits of the mask stay in their place.
inline unsigned swizzle_source(unsigned lane, u32 pattern) {
  const u32 mask = pattern & 31;
  if (pattern >= 0xe000) {
    u32 reversed = 0;
    for (unsigned k = 0; k < 5; ++k) reversed |= (lane >> k & 1) << (4 - k);
    return (lane & 32) | reversed >> std::popcount(mask) | (lane & mask);
  }
  if (pattern >= 0xc000) {
    const unsigned amount = pattern >> 5 & 31;
    const unsigned moved = (pattern >> 10 & 1) != 0 ? lane - amount : lane + amount;
    return (lane & 32) | (lane & mask) | (moved & 31 & ~mask);
  }
  if (pattern >= 0x8000) return (lane & ~3U) | (pattern >> 2 * (lane & 3) & 3);
  const unsigned in = lane & 31;
  return (lane & 32) | (((in & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

void swizzle(Wave& w, const Inst& i) {
  const u32* const data = w.reg(i.src[0]);
  const u32* const mask = lane_mask(w);
  alignas(64) u32 out[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    const unsigned from = swizzle_source(l, static_cast<u32>(i.imm) & 0xffff);
    out[l] = data[from] & mask[from];
  }
  store_masked(w, i, out);
}

// The lanes' offsets without an address register: M0 + offset + 4 * lane.
template <Intent intent>
void by_thread(Wave& w, const Inst& i) {
  u32 offsets[lanes];
  for (unsigned l = 0; l < lanes; ++l) {
    offsets[l] = (w.s[code::m0] & 0xffff) + static_cast<u32>(i.imm) + 4 * l;
  }
  LanePointers p;
  resolve_lds(w, i, offsets, w.exec(), 4, intent, p);
  if (intent == Intent::read) load_rows<1>(p, w.reg(i.dst));
  if (intent == Intent::write) store_rows<1>(p, w.reg(i.src[1]));
}

// ds_append and ds_consume: one counter moves by the number of active lanes.
template <bool add>
void move_counter(Wave& w, const Inst& i) {
  u32 offsets[lanes];
  std::fill_n(offsets, lanes, (w.s[code::m0] & 0xffff) + static_cast<u32>(i.imm));
  if (w.exec() == 0) return;
  LanePointers p;
  resolve_lds(w, i, offsets, w.exec() & (0 - w.exec()), 4, Intent::update, p);
  u32 before = 0;
  const auto by = static_cast<u32>(std::popcount(w.exec()));
  if (p.active != 0) {
    std::byte* const place = p.at[std::countr_zero(p.active)];
    std::memcpy(&before, place, 4);
    const u32 after = add ? before + by : before - by;
    std::memcpy(place, &after, 4);
  }
  alignas(64) u32 out[lanes];
  std::fill_n(out, lanes, before);
  store_masked(w, i, out);
}

void nothing(Wave&, const Inst&) {}

const Entry entries[] = {
    {"ds_read_b32", read<1>},
    {"ds_read_b64", read<2>},
    {"ds_read_b96", read<3>},
    {"ds_read_b128", read<4>},
    {"ds_write_b32", write<1>},
    {"ds_write_b64", write<2>},
    {"ds_write_b96", write<3>},
    {"ds_write_b128", write<4>},
    {"ds_read_u8", read_part<u8, Place::whole>},
    {"ds_read_i8", read_part<i8, Place::whole>},
    {"ds_read_u16", read_part<u16, Place::whole>},
    {"ds_read_i16", read_part<i16, Place::whole>},
    {"ds_read_u8_d16", read_part<u8, Place::low>},
    {"ds_read_u8_d16_hi", read_part<u8, Place::high>},
    {"ds_read_i8_d16", read_part<i8, Place::low>},
    {"ds_read_i8_d16_hi", read_part<i8, Place::high>},
    {"ds_read_u16_d16", read_part<u16, Place::low>},
    {"ds_read_u16_d16_hi", read_part<u16, Place::high>},
    {"ds_write_b8", write_part<u8, false>},
    {"ds_write_b16", write_part<u16, false>},
    {"ds_write_b8_d16_hi", write_part<u8, true>},
    {"ds_write_b16_d16_hi", write_part<u16, true>},
    {"ds_read2_b32", read_two<1, 1>},
    {"ds_read2_b64", read_two<2, 1>},
    {"ds_read2st64_b32", read_two<1, 64>},
    {"ds_read2st64_b64", read_two<2, 64>},
    {"ds_write2_b32", write_two<1, 1>},
    {"ds_write2_b64", write_two<2, 1>},
    {"ds_write2st64_b32", write_two<1, 64>},
    {"ds_write2st64_b64", write_two<2, 64>},
    {"ds_read_b64_tr_b4", read_transposed<4, 2>},
    {"ds_read_b64_tr_b8", read_transposed<u8, 2>},
    {"ds_read_b64_tr_b16", read_transposed<u16, 2>},
    {"ds_read_b96_tr_b6", read_transposed<6, 3>},
    {"ds_bpermute_b32", pull},
    {"ds_permute_b32", push},
    {"ds_swizzle_b32", swizzle},
    {"ds_read_addtid_b32", by_thread<Intent::read>},
    {"ds_write_addtid_b32", by_thread<Intent::write>},
    {"ds_append", move_counter<true>},
    {"ds_consume", move_counter<false>},
    {"ds_nop", nothing},
};

}  // namespace

Entries MLA_GFX_PATH::lds_entries() {
  return entries;
}

}  // namespace mla::gfx
