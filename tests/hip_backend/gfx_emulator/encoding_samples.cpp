#include "encoding_samples.hpp"

#include <array>
#include <initializer_list>

namespace gfx_test {
namespace {

using u32 = std::uint32_t;
constexpr u32 no_operation = 0xbf800000, literal = 0x5678, literal_marker = 255, sdwa_marker = 249,
              dpp_marker = 250;

class Samples {
 public:
  void add(u32 first, u32 second = literal) {
    all.push_back({first, second, no_operation, no_operation});
  }

  u32 bits(unsigned count) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<u32>(state_ >> 33) & ((1U << count) - 1);
  }
  u32 below(u32 count) { return bits(30) % count; }

  // Registers that begin where sixteen of them are aligned, with room for 32.
  u32 lanes() { return 16 * below(14); }
  u32 vector() { return 256 + lanes(); }
  u32 destination() { return 4 * below(12); }
  u32 scalar() {
    static constexpr std::array<u32, 9> named = {0, 4, 32, 64, 102, 104, 106, 112, 126};
    return bits(2) != 0 ? 8 * below(11) : named[below(named.size())];
  }
  u32 constant() {
    static constexpr std::array<u32, 8> specials = {235, 236, 237, 238, 251, 252, 253, 124};
    const u32 kind = bits(2);
    if (kind == 0) return 128 + below(65);
    if (kind == 1) return 193 + below(16);
    return kind == 2 ? 240 + below(9) : specials[below(specials.size())];
  }
  u32 source() {
    const u32 kind = below(3);
    return kind == 0 ? vector() : kind == 1 ? scalar() : constant();
  }
  std::vector<EncodingSample> all;

 private:
  std::uint64_t state_ = 1;
};

void scalar_operations(Samples& s) {
  for (u32 t = 0; t < 12; ++t) {
    // Every third has a constant, one the literal, in the place of the first source.
    const auto first = [&] {
      return t == 5 ? literal_marker : t % 3 == 2 ? s.constant() : s.scalar();
    };
    for (u32 op = 0; op < 0x60; ++op) {
      s.add(0x80000000 | op << 23 | s.scalar() << 16 | s.scalar() << 8 | first(), 0x12345678);
    }
    for (u32 op = 0; op < 29; ++op) {
      s.add(0xb0000000 | op << 23 | s.scalar() << 16 | (t == 0 ? 0 : s.bits(t % 2 == 0 ? 15 : 6)));
    }
    for (u32 op = 0; op < 256; ++op) s.add(0xbe800000 | op << 8 | s.scalar() << 16 | first());
    for (u32 op = 0; op < 128; ++op) {
      s.add(0xbf000000 | op << 16 | (t % 3 == 0 ? s.constant() : s.scalar()) << 8 | first());
      // Of the messages the only one that a compute kernel sends.
      const u32 number = op == 0x10 || op == 0x11 ? 1
                         : t % 3 == 0             ? 0
                                                  : s.bits(t % 3 == 1 ? 4 : 15);
      s.add(0xbf800000 | op << 16 | number);
    }
  }
}

void scalar_memory(Samples& s) {
  for (u32 op = 0; op < 256; ++op) {
    for (u32 t = 0; t < 24; ++t) {
      const u32 immediate = t & 1, soffset = t >> 1 & 1;
      const u32 offset = immediate != 0 ? 4 + s.bits(18) : 8 * s.below(11);
      const bool bare = t == 20;
      s.add(0xc0000000 | op << 18 | immediate << 17 | (t % 5 == 0 ? 1U : 0) << 16 | soffset << 14 |
                (bare ? 0 : 16 * s.below(5) << 6 | 2 * s.below(10)),
            bare ? 0 : offset | (soffset != 0 ? 8 * s.below(11) << 25 : 0));
    }
  }
}

u32 sdwa_word(Samples& s, u32 t, bool compare) {
  const u32 destination = compare ? (t % 2 == 0 ? 0 : 0x8000 | 2 * s.below(20) << 8)
                                  : s.below(7) << 8 | s.below(3) << 11;
  return s.lanes() | destination | s.below(7) << 16 | s.below(7) << 24 |
         (t == 3 ? s.bits(2) << 20 | s.bits(2) << 28 : 0);
}

u32 dpp_word(Samples& s, u32 t) {
  static constexpr std::array<u32, 12> controls = {0x101, 0x113, 0x12f, 0x130, 0x134, 0x138,
                                                   0x13c, 0x140, 0x141, 0x142, 0x143, 0x157};
  const u32 control = t < controls.size() ? controls[t] : s.bits(8);
  return s.lanes() | control << 8 | (t % 3 == 0 ? s.bits(1) << 19 : 0) |
         (t % 4 == 3 ? s.bits(4) << 20 : 0) | (t % 2 == 0 ? s.bits(8) : 0xff) << 24;
}

// VOP1, VOP2 and VOPC: the fields above the first source are the operation's.
template <class Base>
void short_vector(Samples& s, const Base& base, bool compare) {
  for (u32 t = 0; t < 6; ++t) s.add(base() | (t < 2 ? s.vector() : s.source()));
  s.add(base() | literal_marker);
  for (u32 t = 0; t < 4; ++t) s.add(base() | sdwa_marker, sdwa_word(s, t, compare));
  for (u32 t = 0; t < 14 && !compare; ++t) s.add(base() | dpp_marker, dpp_word(s, t));
}

void short_vectors(Samples& s) {
  const auto lanes = [&] { return s.lanes() << 17; };
  for (u32 op = 0; op < 256; ++op) {
    s.add(0x7e000000 | op << 9);
    short_vector(s, [&] { return 0x7e000000 | op << 9 | lanes(); }, false);
    short_vector(s, [&] { return 0x7c000000 | op << 17 | s.lanes() << 9; }, true);
  }
  for (u32 op = 0; op < 62; ++op) {
    short_vector(s, [&] { return op << 25 | lanes() | s.lanes() << 9; }, false);
  }
}

void long_vectors(Samples& s) {
  for (u32 op = 0; op < 1024; ++op) {
    const bool packed = op >= 0x380;
    for (u32 sources = 0; sources < 4; ++sources) {
      for (u32 t = 0; t < 12; ++t) {
        std::array<u32, 3> source{};
        for (u32 k = 0; k < sources; ++k)
          source[k] = t < 3 || (t + k) % 4 != 0 ? s.vector() : s.source();
        // A carry comes from and goes to scalars.
        if (t == 4 || t == 5) source[2] = s.scalar();
        u32 first = 0xd0000000 | op << 16 | s.destination();
        u32 second = source[0] | source[1] << 9 | source[2] << 18;
        if (packed && t % 2 == 1) first |= 0x4000, second |= 0x18000000;
        if (t == 4) first |= 2 * s.below(10) << 8;
        if (t >= 6) first |= s.bits(3) << 8;
        if (t >= 8) first |= s.bits(1) << 15, second |= s.bits(3) << 29;
        if (t == 9 || t == 11) first |= s.bits(4) << 11;
        if (t == 10) second |= s.bits(2) << 27;
        s.add(first, second);
      }
    }
  }
}

void lds(Samples& s) {
  for (u32 op = 0; op < 256; ++op) {
    for (u32 t = 0; t < 32; ++t) {
      const auto lanes = [&](u32 bit) { return (t >> bit & 1) != 0 ? s.lanes() : 0; };
      const u32 offset = op == 0x3d ? 0 : t % 3 == 0 ? 0 : s.bits(t % 3 == 1 ? 16 : 8);
      s.add(0xd8000000 | op << 17 | (t >> 4) << 25 | offset,
            lanes(0) | lanes(1) << 8 | lanes(2) << 16 | lanes(3) << 24);
    }
  }
}

void flat(Samples& s) {
  for (u32 segment = 0; segment < 3; ++segment) {
    for (u32 op = 0; op < 128; ++op) {
      for (u32 t = 0; t < 48; ++t) {
        const auto lanes = [&](u32 bit) { return (t >> bit & 1) != 0 ? s.lanes() : 0; };
        const u32 base = t % 3 == 0 ? 0x7f : segment == 0 ? 0 : 8 * s.below(10);
        const u32 cache = s.bits(1) << 16 | s.bits(1) << 17 | s.bits(1) << 25;
        const u32 offset = t % 2 == 0 ? 0 : s.bits(segment == 0 ? 12 : 13);
        const u32 vector_offset = segment == 1 ? s.bits(1) << 13 : 0;
        s.add(0xdc000000 | segment << 14 | op << 18 | (offset & 0x1fff) | vector_offset | cache,
              lanes(0) | lanes(1) << 8 | lanes(2) << 24 | base << 16 | s.bits(1) << 23);
      }
    }
  }
}

void buffers(Samples& s) {
  for (u32 op = 0; op < 128; ++op) {
    s.add(0xe0000000 | op << 18, 0);
    for (u32 t = 0; t < 32; ++t) {
      const u32 cache = s.bits(2) << 14 | s.bits(1) << 17, to_lds = t >> 4 & 1;
      const u32 offset = t % 3 == 0 ? 0 : s.bits(12);
      const u32 soffset = t % 4 == 0 ? 0x80 : t % 4 == 1 ? 124 : 4 * s.below(20);
      s.add(0xe0000000 | op << 18 | (t & 3) << 12 | to_lds << 16 | offset | cache,
            s.lanes() | s.lanes() << 8 | s.below(20) << 16 | s.bits(1) << 23 | soffset << 24);
    }
  }
}

void images_and_typed(Samples& s) {
  for (u32 t = 0; t < 64; ++t) {
    s.add(0xe8000000 | (t & 15) << 15 | (t >> 4) << 12 | s.bits(7) << 19,
          s.lanes() | s.lanes() << 8 | s.below(20) << 16 | 0x80U << 24);
  }
  for (u32 op = 0; op < 128; ++op) s.add(0xf0000f00 | op << 18, s.lanes() | s.lanes() << 8);
}

// A prefix with the two scales, and the matrix instruction after it.
void scaled_matrices(Samples& s) {
  for (const u32 op : {0x3adU, 0x3aeU}) {
    for (u32 t = 0; t < 32; ++t) {
      const u32 scales = t % 4 == 0 ? s.constant() | s.vector() << 9 : s.vector() | s.vector() << 9;
      const u32 formats = s.below(5) << 8, other = s.below(5) << 29;
      s.all.push_back({0xd3ac0000 | s.bits(2) << 11, scales | s.bits(2) << 27,
                       0xd0000800 | op << 16 | s.bits(1) << 15 | formats | s.destination(),
                       s.vector() | s.vector() << 9 | s.vector() << 18 | s.bits(2) << 27 | other});
    }
  }
}

}  // namespace

std::vector<EncodingSample> encoding_samples() {
  Samples s;
  scalar_operations(s);
  scalar_memory(s);
  short_vectors(s);
  long_vectors(s);
  lds(s);
  flat(s);
  buffers(s);
  images_and_typed(s);
  scaled_matrices(s);
  return std::move(s.all);
}

}  // namespace gfx_test
