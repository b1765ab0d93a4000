// Sparse matrix instructions: whole rows of A with two of every four numbers, written out by k, and
// then put where the published layouts say.
#include "../device.hpp"
#include "families.hpp"
#include "matrix.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned reg_a = 10, reg_b = 20, reg_index = 60, reg_d = 80;

enum class Pick : std::uint8_t {
  ascending,  // as compilers and libraries compress
  any,        // in any order, the same place twice too
  first_two,  // and what is not picked in B is NaN
};
struct Form {
  std::string note;
  bool accumulators = false;
  unsigned cbsz = 0, abid = 0, set = 0;  // the set of indices that these must select
  Pick pick = Pick::ascending;
  u64 exec = ~u64{0};
  bool over_b = false;  // D takes the registers of B
};

// Which bits of which lane: elements follow each other from bit 0 of the first register.
void put(State& state, unsigned first, unsigned lane, unsigned at, unsigned size, u32 bits) {
  state.v[first + at * size / 32][lane] |= bits << at * size % 32;
}

// The tables below have one entry for each k (B) or each pair of compressed elements (A).
struct Layout {
  unsigned m, k, size;
  [[nodiscard]] unsigned groups() const { return 64 / m; }
  // A: a lane has a run of the row, two of four.
  [[nodiscard]] unsigned lane_of_a(unsigned row, unsigned four) const {
    return row + m * (four / (k / 4 / groups()));
  }
  [[nodiscard]] unsigned slot_of_a(unsigned four) const { return 2 * (four % (k / 4 / groups())); }
  // B: 128 bits of a lane are a run; then comes the next lane of the column. The fifth to eighth
  // register begin when all lanes had their first run.
  [[nodiscard]] unsigned run() const { return 128 / size; }
  [[nodiscard]] unsigned lane_of_b(unsigned at, unsigned column) const {
    return column + m * (at / run() % groups());
  }
  [[nodiscard]] unsigned slot_of_b(unsigned at) const {
    return at % run() + (at >= run() * groups() ? run() : 0);
  }
};

std::array<unsigned, 2> picked(Pick pick, Random& random) {
  const auto x = static_cast<unsigned>(random.next() % 4);
  const auto y = static_cast<unsigned>(random.next() % 4);
  if (pick == Pick::first_two) return {0, 1};
  if (pick == Pick::any) return {x, y};
  return x < y ? std::array{x, y} : x > y ? std::array{y, x} : std::array{x / 2, 2 + x / 2};
}

u32 result_bits(const MatrixShape& s, double value) {
  return s.integer ? static_cast<u32>(static_cast<i64>(value)) : bits_of(static_cast<float>(value));
}

// Sets of the index register that are not selected hold other places.
void put_index(State& state, unsigned lane, unsigned each, unsigned slot, unsigned place,
               unsigned set) {
  for (unsigned other = 0; other < 16 / each; ++other) {
    put(state, vgpr + reg_index, lane, other * each + slot, 2, other == set ? place : 3 - place);
  }
}

Vector make(const Op& op, const MatrixShape& s, const Form& f, u64 seed) {
  Random random(seed);
  const Layout at = {s.m, s.k, s.a.bits};
  const unsigned each = s.m * s.k / 128, results = s.m * s.m / 64;
  const unsigned file = f.accumulators ? agpr : vgpr, to = f.over_b ? vgpr + reg_b : file + reg_d;
  Vector v{.operation = op.name, .note = f.note};
  v.before.exec = f.exec;
  std::vector<double> b(std::size_t{s.k} * s.m), sums(std::size_t{s.m} * s.m);
  for (unsigned k = 0; k < s.k; ++k) {
    for (unsigned column = 0; column < s.m; ++column) {
      const u32 bits = f.pick == Pick::first_two && k % 4 > 1
                           ? 0x7fffU >> (s.b.bits == 8 ? 8 : 0)
                           : s.b.choices[random.next() % s.b.choices.size()];
      b[k * s.m + column] = s.b.value(bits);
      put(v.before, vgpr + reg_b, at.lane_of_b(k, column), at.slot_of_b(k), s.b.bits, bits);
    }
  }
  std::vector<Row> d(results);
  for (unsigned r = 0; r < results; ++r) {
    for (unsigned l = 0; l < lanes; ++l) {
      const double c = static_cast<double>(random.next() % 4096) - 2048;
      const unsigned row = 8 * (s.m == 32 ? r / 4 : 0) + 4 * (l / s.m) + r % 4;
      if (!f.over_b) v.before.v[to + r][l] = result_bits(s, c);
      const double from = !f.over_b   ? c
                          : s.integer ? static_cast<double>(static_cast<i32>(v.before.v[to + r][l]))
                                      : static_cast<double>(float_of(v.before.v[to + r][l]));
      sums[row * s.m + l % s.m] = from;
    }
  }
  for (unsigned row = 0; row < s.m; ++row) {
    for (unsigned four = 0; four < s.k / 4; ++four) {
      const auto places = picked(f.pick, random);
      for (unsigned n = 0; n < 2; ++n) {
        const u32 bits = s.a.choices[random.next() % s.a.choices.size()];
        const unsigned lane = at.lane_of_a(row, four), slot = at.slot_of_a(four) + n;
        put(v.before, file + reg_a, lane, slot, s.a.bits, bits);
        put_index(v.before, lane, each, slot, places[n], f.set);
        for (unsigned column = 0; column < s.m; ++column) {
          sums[row * s.m + column] += s.a.value(bits) * b[(4 * four + places[n]) * s.m + column];
        }
      }
    }
  }
  v.words = encode::mfma(op.number, {.dst = to,
                                     .src = {file + reg_a, vgpr + reg_b, vgpr + reg_index},
                                     .cbsz = f.cbsz,
                                     .abid = f.abid});
  for (unsigned r = 0; r < results; ++r) {
    Expected e{.index = to + r, .values = {}, .compare = s.integer ? Compare::bits : Compare::f32};
    for (unsigned l = 0; l < lanes; ++l) {
      const unsigned row = 8 * (s.m == 32 ? r / 4 : 0) + 4 * (l / s.m) + r % 4;
      e.values[l] = result_bits(s, sums[row * s.m + l % s.m]);
    }
    v.after.push_back(e);
  }
  return v;
}

void add_shape(Vectors& out, const Op& op, const MatrixShape& s) {
  const unsigned sets = 16 / (s.m * s.k / 128);
  out.push_back(make(op, s, {.note = "registers"}, 1));
  out.push_back(make(op, s, {.note = "accumulators", .accumulators = true}, 2));
  out.push_back(make(op, s, {.note = "EXEC does not count", .exec = 0x123456789abc}, 3));
  out.push_back(make(op, s, {.note = "any places", .pick = Pick::any}, 4));
  for (unsigned set = 1; set < sets; ++set) {
    out.push_back(make(op, s, {.note = "set", .abid = set, .set = set}, 5 + set));
  }
  out.push_back(make(op, s, {.note = "first set", .cbsz = 1, .abid = 1}, 9));
  out.push_back(make(op, s, {.note = "ABID modulo the sets", .abid = sets}, 10));
  if (s.integer) {
    out.push_back(make(op, s, {.note = "D over B", .over_b = true}, 11));
  } else {
    out.push_back(make(op, s, {.note = "NaN where nothing is", .pick = Pick::first_two}, 12));
  }
}

// What a gfx950 showed: which slot and group of lanes of B meets slot `a` of group `group` of A,
// when the index names the first two places. In B every place has its own number.
void add_probe(Vectors& out, Arch arch) {
  const Op op = find_op(arch, "v_smfmac_f32_16x16x64_f16");
  if (op.name.empty()) return;
  for (unsigned group = 0; group < 4; ++group) {
    for (unsigned a = 0; a < 8; ++a) {
      Vector v{.operation = op.name, .note = "one element, as probed"};
      v.before.v[vgpr + reg_a + a / 2] = {};
      for (unsigned k = 0; k < 4; ++k) v.before.v[vgpr + reg_a + k] = {};
      for (unsigned l = 0; l < lanes; ++l) {
        v.before.v[vgpr + reg_index][l] = 0x4444;
        if (l / 16 == group) put(v.before, vgpr + reg_a, l, a, 16, half_of(1).bits);
        for (unsigned slot = 0; slot < 16; ++slot) {
          put(v.before, vgpr + reg_b, l, slot, 16, half_of(16.0 * (l / 16) + slot + 1).bits);
        }
        for (unsigned r = 0; r < 4; ++r) v.before.v[vgpr + reg_d + r][l] = 0;
      }
      constexpr unsigned slots[8] = {0, 1, 4, 5, 0, 1, 4, 5};
      const unsigned slot = slots[a] + (group < 2 ? 0 : 8);
      const unsigned from = (group % 2 == 0 ? 0 : 2) + (a < 4 ? 0 : 1);
      v.words = encode::mfma(
          op.number, {.dst = vgpr + reg_d, .src = {vgpr + reg_a, vgpr + reg_b, vgpr + reg_index}});
      for (unsigned r = 0; r < 4; ++r) {
        Expected e{.index = vgpr + reg_d + r, .values = {}, .compare = Compare::f32};
        e.values.fill(bits_of(static_cast<float>(16 * from + slot + 1)));
        v.after.push_back(e);
      }
      out.push_back(std::move(v));
    }
  }
}

}  // namespace

Vectors sparse_vectors(Arch arch) {
  Vectors out;
  for (const auto& [name, shape] : sparse_shapes(arch)) {
    const Op op = find_op(arch, name);
    if (!op.name.empty()) add_shape(out, op, shape);
  }
  add_probe(out, arch);
  return out;
}

}  // namespace gfx_test
