// DS: exchanges of two places, and of the halves of one that their data choose.
#include "alu.hpp"
#include "families.hpp"
#include "memory_model.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned address = vgpr + 10, first = vgpr + 12, second = vgpr + 16;
constexpr unsigned destination = vgpr + 20;
constexpr u64 some = 0xfff0ffff7fffff35;

struct Start {
  Vector v;
  std::vector<u32> lds;

  // The lanes' places lie `step` bytes apart, in another order.
  Start(const Op& op, unsigned rows, unsigned step, u64 exec) {
    v = random_registers(op, "exchange", {});
    v.before.exec = exec;
    for (unsigned r = 0; r < rows; ++r) {
      const WideRow bits = random_row(op.name + std::to_string(r));
      Row row;
      for (unsigned l = 0; l < lanes; ++l) row[l] = static_cast<u32>(bits[l]);
      v.before.lds.push_back(row);
      lds.insert(lds.end(), row.begin(), row.end());
    }
    for (unsigned l = 0; l < lanes; ++l) v.before.v[address][l] = step * (l * 37 % 64);
  }
  void random(unsigned reg, unsigned words) {
    for (unsigned k = 0; k < words; ++k) {
      put_row(v.before, reg + k, random_row("r" + std::to_string(reg + k)), 4);
    }
  }
  [[nodiscard]] bool active(unsigned l) const { return (v.before.exec >> l & 1) != 0; }
  void expect(const std::vector<Row>& results) {
    for (unsigned k = 0; k < results.size(); ++k) {
      Expected e{.index = destination + k, .values = {}};
      for (unsigned l = 0; l < lanes; ++l) {
        e.values[l] = active(l) ? results[k][l] : v.before.v[destination + k][l];
      }
      v.after.push_back(e);
    }
    for (unsigned r = 0; r < v.before.lds.size(); ++r) {
      Expected e{.where = Expected::Where::lds, .index = r, .values = {}};
      for (unsigned l = 0; l < lanes; ++l) e.values[l] = lds[std::size_t{r} * lanes + l];
      v.after.push_back(e);
    }
  }
};

// The second place of a lane is the first one of another, unless `far`.
void add_two(Vectors& out, Arch arch, unsigned words, bool far, u64 exec) {
  const Op op = find_op(arch, std::string("ds_wrxchg2") + (far ? "st64" : "") + "_rtn_" +
                                  (words == 1 ? "b32" : "b64"));
  const unsigned unit = 4 * words * (far ? 64 : 1), near = far ? 1 : 3, other = far ? 3 : 40;
  Start s(op, words == 1 ? 6 : 12, 4 * words, exec);
  s.random(first, words);
  s.random(second, words);
  s.random(destination, 2 * words);
  s.v.words = encode::ds(op.number, {.dst = destination,
                                     .address = address,
                                     .data0 = first,
                                     .data1 = second,
                                     .offset0 = near,
                                     .offset1 = other});
  std::vector<Row> results(2 * words);
  for (const bool latter : {false, true}) {
    for (unsigned l = 0; l < lanes; ++l) {
      for (unsigned k = 0; k < words && s.active(l); ++k) {
        const std::size_t at = s.v.before.v[address][l] + unit * (latter ? other : near) + 4 * k;
        results[(latter ? words : 0) + k][l] = peek<u32>(s.lds, at);
        poke(s.lds, at, s.v.before.v[(latter ? second : first) + k][l]);
      }
    }
  }
  s.expect(results);
  out.push_back(std::move(s.v));
}

// The lowest three bits of the address do not count.
void add_conditional(Vectors& out, Arch arch, u64 exec) {
  const Op op = find_op(arch, "ds_condxchg32_rtn_b64");
  Start s(op, 3, 8, exec);
  s.random(first, 2);
  s.random(destination, 2);
  std::vector<Row> results(2);
  for (unsigned l = 0; l < lanes; ++l) {
    const std::size_t at = s.v.before.v[address][l] + 16;
    s.v.before.v[address][l] += l % 8;
    for (unsigned k = 0; k < 2; ++k) {
      const u32 data = s.v.before.v[first + k][l];
      results[k][l] = peek<u32>(s.lds, at + 4 * k);
      if (s.active(l) && data >= 0x80000000) poke(s.lds, at + 4 * k, data - 0x80000000);
    }
  }
  s.v.words = encode::ds(op.number,
                         {.dst = destination, .address = address, .data0 = first, .offset0 = 16});
  s.expect(results);
  out.push_back(std::move(s.v));
}

}  // namespace

Vectors ds_exchange_vectors(Arch arch) {
  Vectors out;
  for (const u64 exec : {~u64{0}, some}) {
    for (const unsigned words : {1U, 2U}) {
      for (const bool far : {false, true}) add_two(out, arch, words, far, exec);
    }
    add_conditional(out, arch, exec);
  }
  return out;
}

}  // namespace gfx_test
