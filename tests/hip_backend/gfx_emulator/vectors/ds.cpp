// DS: reads, writes and atomics of LDS.
#include "../device.hpp"
#include "alu.hpp"
#include "families.hpp"
#include "memory_model.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned address = vgpr + 10, first = vgpr + 12, second = vgpr + 16;
constexpr unsigned destination = vgpr + 20;
constexpr std::size_t rows = 20;  // of 256 bytes
constexpr u64 some = 0xfff0ffff7fffff35;

// A vector with random LDS, random data, and an address for each lane.
struct Start {
  Vector v;
  std::vector<u32> lds;
  std::array<u32, lanes> at{};

  Start(const Op& op, const std::string& note, u64 exec, unsigned step) {
    v.operation = op.name;
    v.note = note;
    v.before.exec = exec;
    for (std::size_t r = 0; r < rows; ++r) {
      const WideRow bits = random_row(op.name + std::to_string(r));
      Row row;
      for (unsigned l = 0; l < lanes; ++l) row[l] = static_cast<u32>(bits[l]);
      v.before.lds.push_back(row);
      lds.insert(lds.end(), row.begin(), row.end());
    }
    for (unsigned l = 0; l < lanes; ++l) {
      at[l] = step * (l * 37 % 64);  // every place once, in another order
      v.before.v[address][l] = at[l];
    }
  }
  void data(unsigned reg, unsigned words) {
    for (unsigned k = 0; k < words; ++k) {
      put_row(v.before, reg + k, random_row(v.operation + std::to_string(reg + k)), 4);
    }
  }
  [[nodiscard]] bool active(unsigned l) const { return (v.before.exec >> l & 1) != 0; }
  void expect_lds() {
    for (unsigned r = 0; r < rows; ++r) {
      Expected e{.where = Expected::Where::lds, .index = r, .values = {}};
      for (unsigned l = 0; l < lanes; ++l) e.values[l] = lds[std::size_t{r} * lanes + l];
      v.after.push_back(e);
    }
  }
  // A result register: what `f` says in active lanes.
  template <class F>
  void expect(unsigned reg, F f) {
    Expected e{.index = reg, .values = {}};
    for (unsigned l = 0; l < lanes; ++l) e.values[l] = active(l) ? f(l) : v.before.v[reg][l];
    v.after.push_back(e);
  }
};

void add_wide(Vectors& out, Arch arch) {
  struct Case {
    const char* suffix;
    unsigned words;
  };
  for (const auto& [suffix, words] : {Case{"b32", 1}, {"b64", 2}, {"b96", 3}, {"b128", 4}}) {
    for (const u64 exec : {~u64{0}, some}) {
      for (const unsigned step : {words * 4, 16U}) {
        const Op read = find_op(arch, std::string("ds_read_") + suffix);
        Start r(read, "read", exec, step);
        r.data(destination, words);
        r.v.words = encode::ds(
            read.number, {.dst = destination, .address = address, .offset0 = 8, .offset1 = 1});
        for (unsigned k = 0; k < words; ++k) {
          r.expect(destination + k,
                   [&](unsigned l) { return peek<u32>(r.lds, r.at[l] + 264 + 4 * k); });
        }
        out.push_back(r.v);
        const Op write = find_op(arch, std::string("ds_write_") + suffix);
        Start w(write, "write", exec, step);
        w.data(first, words);
        w.v.words = encode::ds(write.number, {.address = address, .data0 = first, .offset0 = 12});
        for (unsigned l = 0; l < lanes; ++l) {
          for (unsigned k = 0; k < words && w.active(l); ++k) {
            poke(w.lds, w.at[l] + 12 + 4 * k, w.v.before.v[first + k][l]);
          }
        }
        w.expect_lds();
        out.push_back(w.v);
      }
    }
  }
}

template <class T>
void add_part(Vectors& out, Arch arch, const std::string& type) {
  for (const char* const place : {"", "_d16", "_d16_hi"}) {
    const Op op = find_op(arch, "ds_read_" + type + place);
    if (op.name.empty()) continue;
    Start r(op, "read", some, 3 * sizeof(T));
    r.data(destination, 1);
    r.v.words = encode::ds(op.number, {.dst = destination, .address = address, .offset0 = 2});
    r.expect(destination, [&](unsigned l) {
      const auto value = static_cast<u32>(static_cast<i32>(peek<T>(r.lds, r.at[l] + 2)));
      const u32 old = r.v.before.v[destination][l];
      if (*place == 0) return value;
      return std::string(place) == "_d16" ? (old & 0xffff0000) | (value & 0xffff)
                                          : (old & 0xffff) | value << 16;
    });
    out.push_back(r.v);
  }
}
template <class T>
void add_part_write(Vectors& out, Arch arch, const std::string& type) {
  for (const bool high : {false, true}) {
    const Op op = find_op(arch, "ds_write_" + type + (high ? "_d16_hi" : ""));
    Start w(op, "write", some, 2 * sizeof(T));
    w.data(first, 1);
    w.v.words = encode::ds(op.number, {.address = address, .data0 = first, .offset0 = 6});
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 value = w.v.before.v[first][l] >> (high ? 16 : 0);
      if (w.active(l)) poke(w.lds, w.at[l] + 6, static_cast<T>(value));
    }
    w.expect_lds();
    out.push_back(w.v);
  }
}

// Two places; offsets count elements, or 64 elements.
void add_pairs(Vectors& out, Arch arch) {
  for (const unsigned words : {1U, 2U}) {
    for (const bool far : {false, true}) {
      const std::string suffix = std::string(far ? "2st64" : "2") + (words == 1 ? "_b32" : "_b64");
      const unsigned unit = 4 * words * (far ? 64 : 1), near = far ? 1 : 3, other = far ? 4 : 70;
      const Op read = find_op(arch, "ds_read" + suffix), write = find_op(arch, "ds_write" + suffix);
      for (const u64 exec : {~u64{0}, some}) {
        Start r(read, "read", exec, 4 * words);
        r.data(destination, 2 * words);
        r.v.words =
            encode::ds(read.number,
                       {.dst = destination, .address = address, .offset0 = near, .offset1 = other});
        for (unsigned k = 0; k < 2 * words; ++k) {
          const unsigned offset = unit * (k < words ? near : other) + 4 * (k % words);
          r.expect(destination + k, [&](unsigned l) { return peek<u32>(r.lds, r.at[l] + offset); });
        }
        out.push_back(r.v);
        Start w(write, "write", exec, 4 * words);
        w.data(first, words);
        w.data(second, words);
        w.v.words = encode::ds(write.number, {.address = address,
                                              .data0 = first,
                                              .data1 = second,
                                              .offset0 = near,
                                              .offset1 = other});
        for (const bool latter : {false, true}) {
          for (unsigned l = 0; l < lanes; ++l) {
            for (unsigned k = 0; k < words && w.active(l); ++k) {
              poke(w.lds, w.at[l] + unit * (latter ? other : near) + 4 * k,
                   w.v.before.v[(latter ? second : first) + k][l]);
            }
          }
        }
        w.expect_lds();
        out.push_back(w.v);
      }
    }
  }
}

// Values of one element for each lane in registers.
void set_values(State& state, unsigned reg, const WideRow& values, unsigned size) {
  put_row(state, reg, values, size);
}

void add_atomic(Vectors& out, Arch arch, const std::string& name, const Atomic& atomic,
                bool returns) {
  const Op op = find_op(arch, name);
  if (op.name.empty()) return;
  const auto operands = operand_rows(name, {atomic.type, atomic.type, atomic.type}, atomic.only);
  for (std::size_t n = 0; n < 3; ++n) {
    Start a(op, "atomic", n == 2 ? some : ~u64{0}, atomic.size);
    // Memory holds values worth trying; some of them equal the data.
    for (unsigned l = 0; l < lanes; ++l) {
      const u64 value = l % 5 == 0 ? operands[n][1][l] : operands[n][0][l];
      if (atomic.size == 4) poke(a.lds, a.at[l] + 16, static_cast<u32>(value));
      if (atomic.size == 8) poke(a.lds, a.at[l] + 16, value);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      for (unsigned l = 0; l < lanes; ++l) a.v.before.lds[r][l] = a.lds[r * lanes + l];
    }
    set_values(a.v.before, first, operands[n][1], atomic.size);
    set_values(a.v.before, second, operands[n][2], atomic.size);
    if (returns) a.data(destination, atomic.size / 4);
    a.v.words = encode::ds(op.number, {.dst = returns ? destination : vgpr,
                                       .address = address,
                                       .data0 = first,
                                       .data1 = atomic.two ? second : vgpr,
                                       .offset0 = 16});
    const std::vector<u32> was = a.lds;
    for (unsigned l = 0; l < lanes; ++l) {
      if (!a.active(l)) continue;
      const std::size_t at = a.at[l] + 16;
      const u64 data = operands[n][1][l], other = operands[n][2][l];
      if (atomic.size == 4) {
        poke(a.lds, at, static_cast<u32>(atomic.run(peek<u32>(was, at), data, other)));
      } else {
        poke(a.lds, at, atomic.run(peek<u64>(was, at), data, other));
      }
    }
    a.expect_lds();
    for (unsigned k = 0; returns && k < atomic.size / 4; ++k) {
      a.expect(destination + k, [&](unsigned l) { return peek<u32>(was, a.at[l] + 16 + 4 * k); });
    }
    out.push_back(a.v);
  }
}

void add_atomics(Vectors& out, Arch arch) {
  for (const AtomicNames& names : all_atomics()) {
    const std::size_t bar = names.ds.find('|');
    if (bar == std::string::npos) continue;
    const std::string stem = "ds_" + names.ds.substr(0, bar), type = "_" + names.ds.substr(bar + 1);
    add_atomic(out, arch, stem + type, names.atomic, false);
    add_atomic(out, arch, stem + "_rtn" + type, names.atomic, true);
  }
}

// By lane instead of by address, and the counter of active lanes.
void add_without_address(Vectors& out, Arch arch) {
  const Op read = find_op(arch, "ds_read_addtid_b32"), write = find_op(arch, "ds_write_addtid_b32");
  Start r(read, "by lane", some, 4);
  r.data(destination, 1);
  r.v.before.s[m0] = 128;
  r.v.words = encode::ds(read.number, {.dst = destination, .offset0 = 4, .offset1 = 1});
  r.expect(destination, [&](unsigned l) { return peek<u32>(r.lds, 388 + 4 * l); });
  out.push_back(r.v);
  Start w(write, "by lane", some, 4);
  w.data(first, 1);
  w.v.before.s[m0] = 64;
  w.v.words = encode::ds(write.number, {.data0 = first, .offset0 = 8});
  for (unsigned l = 0; l < lanes; ++l) {
    if (w.active(l)) poke(w.lds, 72 + 4 * l, w.v.before.v[first][l]);
  }
  w.expect_lds();
  out.push_back(w.v);
  for (const bool add : {true, false}) {
    const Op op = find_op(arch, add ? "ds_append" : "ds_consume");
    Start c(op, "counter", 0x00f0000000000301, 4);
    c.data(destination, 1);
    c.v.before.s[m0] = 512;
    c.v.words = encode::ds(op.number, {.dst = destination, .offset0 = 8});
    const u32 was = peek<u32>(c.lds, 520);
    poke(c.lds, 520, add ? was + 7 : was - 7);
    c.expect_lds();
    c.expect(destination, [&](unsigned) { return was; });
    out.push_back(c.v);
  }
}

// Element j of lane n: element n % E of lane L * j + n / E (assumption TRANSPOSED_READ).
void add_transposed(Vectors& out, Arch arch) {
  struct Case {
    const char* name;
    unsigned bits, words;
  };
  for (const auto& [name, bits, words] : {Case{"ds_read_b64_tr_b16", 16, 2},
                                          {"ds_read_b64_tr_b8", 8, 2},
                                          {"ds_read_b64_tr_b4", 4, 2},
                                          {"ds_read_b96_tr_b6", 6, 3}}) {
    const Op op = find_op(arch, name);
    if (op.name.empty()) continue;
    const unsigned each = 32 * words / bits;
    Start r(op, "transposed", ~u64{0}, 4 * words);
    r.data(destination, words);
    r.v.words = encode::ds(op.number, {.dst = destination, .address = address, .offset0 = 16});
    const auto bit = [&](unsigned lane, unsigned at) {
      return peek<u32>(r.lds, r.at[lane] + 16 + at / 32 * 4) >> at % 32 & 1;
    };
    for (unsigned k = 0; k < words; ++k) {
      r.expect(destination + k, [&](unsigned l) {
        u32 value = 0;
        for (unsigned b = 0; b < 32; ++b) {
          const unsigned j = (32 * k + b) / bits, within = (32 * k + b) % bits, n = l % 16;
          const unsigned from = l - n + 16 / each * j + n / each;
          value |= bit(from, bits * (n % each) + within) << b;
        }
        return value;
      });
    }
    out.push_back(r.v);
  }
}

}  // namespace

Vectors ds_vectors(Arch arch) {
  Vectors out;
  add_wide(out, arch);
  add_part<std::uint8_t>(out, arch, "u8");
  add_part<std::int8_t>(out, arch, "i8");
  add_part<u16>(out, arch, "u16");
  add_part<i16>(out, arch, "i16");
  add_part_write<std::uint8_t>(out, arch, "b8");
  add_part_write<u16>(out, arch, "b16");
  add_pairs(out, arch);
  add_atomics(out, arch);
  add_without_address(out, arch);
  add_transposed(out, arch);
  return out;
}

}  // namespace gfx_test
