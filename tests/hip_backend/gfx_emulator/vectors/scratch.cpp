// SCRATCH, and FLAT through the apertures of scratch and LDS.
#include "addresses.hpp"
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned dwords = 24, scalar_offset = 8;
constexpr u64 some = 0xfff0ffff7fffff35;

struct Place {
  std::string note;
  bool by_lane = false, by_scalar = false;
  int offset = 0;
};
const Place places[] = {{"offset", false, false, 8},
                        {"lane", true, false, 4},
                        {"scalar", false, true, -4},
                        {"lane and scalar", true, true, 12}};

struct Scratch {
  Vector v;
  std::array<std::vector<u32>, lanes> memory;  // of each lane
  std::array<u32, lanes> at{};

  Scratch(const Op& op, const Place& place, u64 exec) {
    v.operation = op.name;
    v.note = place.note;
    v.before.exec = exec;
    for (unsigned k = 0; k < dwords; ++k) {
      const WideRow bits = random_row(op.name + std::to_string(k));
      Row row;
      for (unsigned l = 0; l < lanes; ++l) {
        row[l] = static_cast<u32>(bits[l]);
        memory[l].push_back(row[l]);
      }
      v.before.scratch.push_back(row);
    }
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 lane = place.by_lane ? l % 5 * 4 : 0;
      v.before.v[memory_address][l] = lane;
      at[l] = static_cast<u32>(static_cast<int>(lane) + (place.by_scalar ? 32 : 0) + place.offset);
    }
    v.before.s[scalar_offset] = 32;
    for (unsigned k = 0; k < 4; ++k) {
      put_row(v.before, memory_data + k, random_row(op.name + "data" + std::to_string(k)), 4);
      put_row(v.before, memory_result + k, random_row(op.name + "old" + std::to_string(k)), 4);
    }
  }
  [[nodiscard]] bool active(unsigned l) const { return (v.before.exec >> l & 1) != 0; }
  template <class F>
  void expect(unsigned reg, F f) {
    Expected e{.index = reg, .values = {}};
    for (unsigned l = 0; l < lanes; ++l) e.values[l] = active(l) ? f(l) : v.before.v[reg][l];
    v.after.push_back(e);
  }
  void expect_scratch() {
    for (unsigned k = 0; k < dwords; ++k) {
      Expected e{.where = Expected::Where::scratch, .index = k, .values = {}};
      for (unsigned l = 0; l < lanes; ++l) e.values[l] = memory[l][k];
      v.after.push_back(e);
    }
  }
};

Words encoded(const Op& op, const Place& place, unsigned dst, unsigned data) {
  encode::Flat fields{.dst = dst,
                      .address = memory_address,
                      .data = data,
                      .offset = place.offset,
                      .sve = place.by_lane};
  if (place.by_scalar) fields.saddr = scalar_offset;
  return encode::flat(op.number, encode::Segment::scratch, fields);
}

void add_wide(Vectors& out, Arch arch, const Place& place, u64 exec) {
  for (const unsigned words : {1U, 2U, 3U, 4U}) {
    const std::string suffix = words == 1 ? "dword" : "dwordx" + std::to_string(words);
    const Op load = find_op(arch, "scratch_load_" + suffix);
    Scratch r(load, place, exec);
    r.v.words = encoded(load, place, memory_result, vgpr);
    for (unsigned k = 0; k < words; ++k) {
      r.expect(memory_result + k,
               [&](unsigned l) { return peek<u32>(r.memory[l], r.at[l] + 4 * k); });
    }
    out.push_back(r.v);
    const Op store = find_op(arch, "scratch_store_" + suffix);
    Scratch w(store, place, exec);
    w.v.words = encoded(store, place, vgpr, memory_data);
    for (unsigned l = 0; l < lanes; ++l) {
      for (unsigned k = 0; k < words && w.active(l); ++k) {
        poke(w.memory[l], w.at[l] + 4 * k, w.v.before.v[memory_data + k][l]);
      }
    }
    w.expect_scratch();
    out.push_back(w.v);
  }
}

template <class T>
void add_load(Vectors& out, Arch arch, const Place& place, const std::string& name,
              const std::string& half) {
  const Op op = find_op(arch, "scratch_load_" + name + half);
  Scratch r(op, place, some);
  for (u32& at : r.at) ++at;
  r.v.words = encoded(op, {place.note, place.by_lane, place.by_scalar, place.offset + 1},
                      memory_result, vgpr);
  r.expect(memory_result, [&](unsigned l) {
    const auto bits = static_cast<u32>(static_cast<i32>(peek<T>(r.memory[l], r.at[l])));
    const u32 old = r.v.before.v[memory_result][l];
    if (half.empty()) return bits;
    return half == "_d16" ? (old & 0xffff0000) | (bits & 0xffff) : (old & 0xffff) | bits << 16;
  });
  out.push_back(r.v);
}

template <class T>
void add_store(Vectors& out, Arch arch, const Place& place, const std::string& name) {
  for (const bool high : {false, true}) {
    const Op op = find_op(arch, "scratch_store_" + name + (high ? "_d16_hi" : ""));
    Scratch w(op, place, some);
    w.v.words = encoded(op, place, vgpr, memory_data);
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 value = w.v.before.v[memory_data][l] >> (high ? 16 : 0);
      if (w.active(l)) poke(w.memory[l], w.at[l], static_cast<T>(value));
    }
    w.expect_scratch();
    out.push_back(w.v);
  }
}

// FLAT: the upper half of an address names LDS or scratch (the apertures of assumptions.hpp).
void add_apertures(Vectors& out, Arch arch) {
  const Op load = find_op(arch, "flat_load_dword"), store = find_op(arch, "flat_store_dword");
  for (const bool shared : {true, false}) {
    for (const Op& op : {load, store}) {
      Scratch s(op, places[0], some);
      s.v.note = shared ? "LDS" : "scratch";
      std::vector<u32> lds;
      for (unsigned r = 0; r < 2; ++r) {
        s.v.before.lds.push_back(s.v.before.scratch[r]);
        lds.insert(lds.end(), s.v.before.scratch[r].begin(), s.v.before.scratch[r].end());
      }
      for (unsigned l = 0; l < lanes; ++l) {
        s.at[l] = shared ? 4 * (l * 37 % 64) + 64 : 4 * (l % 7) + 16;
        s.v.before.v[memory_address][l] = s.at[l] - 16;
        s.v.before.v[memory_address + 1][l] = shared ? 0x00010000 : 0x00020000;
      }
      s.v.words = encode::flat(
          op.number, encode::Segment::flat,
          {.dst = memory_result, .address = memory_address, .data = memory_data, .offset = 16});
      if (op.name == load.name) {
        s.expect(memory_result, [&](unsigned l) {
          return shared ? peek<u32>(lds, s.at[l]) : peek<u32>(s.memory[l], s.at[l]);
        });
      } else {
        for (unsigned l = 0; l < lanes; ++l) {
          if (s.active(l)) poke(shared ? lds : s.memory[l], s.at[l], s.v.before.v[memory_data][l]);
        }
        s.expect_scratch();
        for (unsigned r = 0; r < 2; ++r) {
          Expected e{.where = Expected::Where::lds, .index = r, .values = {}};
          for (unsigned l = 0; l < lanes; ++l) e.values[l] = lds[r * lanes + l];
          s.v.after.push_back(e);
        }
      }
      out.push_back(s.v);
    }
  }
}

}  // namespace

Vectors scratch_vectors(Arch arch) {
  Vectors out;
  for (const Place& place : places) {
    for (const u64 exec : {~u64{0}, some}) add_wide(out, arch, place, exec);
    for (const char* const half : {"", "_d16", "_d16_hi"}) {
      add_load<std::uint8_t>(out, arch, place, "ubyte", half);
      add_load<std::int8_t>(out, arch, place, "sbyte", half);
      add_load<i16>(out, arch, place, *half == 0 ? "sshort" : "short", half);
    }
    add_load<u16>(out, arch, place, "ushort", "");
    add_store<std::uint8_t>(out, arch, place, "byte");
    add_store<u16>(out, arch, place, "short");
  }
  add_apertures(out, arch);
  return out;
}

}  // namespace gfx_test
