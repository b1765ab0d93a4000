// Multiply-adds of f16 pairs by AVX2 or AVX-512, as this file is compiled: the bits of the exact
// sums, rounded once.
#include "hip_backend/gfx_emulator/exec/packed_half-inl.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "tests/skip.hpp"

namespace {

using mla::gfx::lanes;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
__extension__ typedef __int128 Exact;  // in units of 2^-48

bool is_nan(uint32_t half) {
  return (half & 0x7fff) > 0x7c00;
}
bool is_infinite(uint32_t half) {
  return (half & 0x7fff) == 0x7c00;
}
// In units of 2^-24.
Exact units(uint32_t half) {
  const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
  const Exact magnitude =
      exponent == 0 ? Exact{fraction} : Exact{1024 + fraction} << (exponent - 1);
  return half >> 15 != 0 ? -magnitude : magnitude;
}

uint32_t nearest_even(Exact sum) {
  const uint32_t sign = sum < 0 ? 0x8000 : 0;
  const Exact magnitude = sum < 0 ? -sum : sum;
  const auto upper = static_cast<uint64_t>(magnitude >> 34);
  // Of the last place of a half, 2^-24 at least.
  const unsigned above = upper == 0 ? 0 : static_cast<unsigned>(std::bit_width(upper)) - 1;
  const unsigned shift = 24 + above;
  const auto kept = static_cast<uint32_t>(magnitude >> shift);
  const Exact lost = magnitude - (Exact{kept} << shift), middle = Exact{1} << (shift - 1);
  const uint32_t up = lost > middle || (lost == middle && kept % 2 != 0) ? 1 : 0;
  return std::min<uint32_t>(above * 1024 + kept + up, 0x7c00) | sign;
}

// What x86 makes of NaN: the first one, else the one that it has for no number.
uint32_t expected(uint32_t a, uint32_t b, uint32_t c) {
  constexpr uint32_t quiet = 0x200, no_number = 0xfe00;
  if (is_nan(a)) return a | quiet;
  if (is_nan(b)) return b | quiet;
  const uint32_t sign = (a ^ b) & 0x8000;
  if (is_infinite(a) || is_infinite(b)) {
    if (units(a) == 0 || units(b) == 0) return no_number;
    if (is_nan(c)) return c | quiet;
    return is_infinite(c) && (c & 0x8000) != sign ? no_number : 0x7c00 | sign;
  }
  if (is_nan(c)) return c | quiet;
  if (is_infinite(c)) return c;
  const Exact product = units(a) * units(b), sum = product + (units(c) << 24);
  if (sum == 0) return product == 0 ? sign & c : 0;
  return nearest_even(sum);
}

// Waves of triples, each looked at when it is full. `apart`: how many halves from one to the next,
// zeros between them; a wave of many has a doubtful one in every part of it.
class Waves {
 public:
  explicit Waves(unsigned apart) : apart_(apart) {}
  void add(uint32_t a, uint32_t b, uint32_t c) {
    // A place of its own in each round.
    const unsigned at = next_ + round_ % apart_;
    put(in_[0], at, a), put(in_[1], at, b), put(in_[2], at, c);
    next_ += apart_;
    if (next_ == 2 * lanes) look();
  }
  [[nodiscard]] uint64_t wrong() const { return wrong_; }

 private:
  using Row = uint32_t[lanes];
  static void put(Row& row, unsigned at, uint32_t half) { row[at / 2] |= half << at % 2 * 16; }
  static uint32_t half(const Row& row, unsigned at) { return row[at / 2] >> at % 2 * 16 & 0xffff; }

  void look() {
    // The destination is a register of its own or one of the sources.
    alignas(64) Row from[4] = {};
    for (unsigned k = 0; k < 3; ++k) std::copy_n(in_[k], lanes, from[k]);
    Row& out = from[round_ % 4];
    mla::gfx::fuse_pairs(from[0], from[1], from[2], out);
    for (unsigned at = 0; at < 2 * lanes; ++at) {
      const uint32_t a = half(in_[0], at), b = half(in_[1], at), c = half(in_[2], at);
      if (apart_ != 1 && (a | b | c) == 0) continue;
      const uint32_t found = half(out, at), right = expected(a, b, c);
      if (found != right && ++wrong_ == 1)
        UNSCOPED_INFO(a << " * " << b << " + " << c << ": " << found << ", not " << right);
    }
    for (auto& row : in_) std::fill_n(row, lanes, 0);
    next_ = 0;
    ++round_;
  }

  alignas(64) Row in_[3] = {};
  unsigned apart_, next_ = 0, round_ = 0;
  uint64_t wrong_ = 0;
};

// fill(waves), with triples side by side and alone.
template <class F>
void same_bits(F fill) {
#if defined(__AVX512DQ__)
  if (!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    return mla::test::skip("no AVX-512 here");
#endif
  if (!__builtin_cpu_supports("avx2")) return mla::test::skip("no AVX2 here");
  for (const unsigned apart : {1U, 32U}) {
    Waves waves(apart);
    fill(waves);
    CHECK(waves.wrong() == 0);
  }
}

constexpr uint32_t edges[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x8400,
                              0x3c00, 0xbc00, 0x3bff, 0x7bff, 0xfbff, 0x7c00, 0xfc00,
                              0x7c01, 0xfe05, 0x1000, 0x8c00, 0x5555, 0x9001};

// Significands of 11 bits whose product is near the middle between two of 11 bits, or near 2^n.
struct Factors {
  uint32_t a, b;
};
std::vector<Factors> hard_factors() {
  std::vector<Factors> out;
  for (uint32_t a = 0; a < 1024; ++a) {
    for (uint32_t b = a; b < 1024; ++b) {
      const uint32_t product = (1024 + a) * (1024 + b), last = product >> 21 != 0 ? 2048 : 1024;
      const uint32_t from_middle = (product + last / 2 + 1) % last;
      const uint32_t from_power = (product + 8) % (1U << 19);
      if (from_middle < 3 || from_power < 17) out.push_back({a, b});
    }
  }
  return out;
}

// Triples whose sums are near the middle between two halves, or denormal, more often than not.
class Hard {
 public:
  template <class F>
  void draw(F with) {
    const Factors& f = factors_[random_() % factors_.size()];
    const uint32_t bits = random_();
    // The product is 2^-24 to 2^24 of c, of which few have much in common with it.
    const int c = static_cast<int>(bits % 31), apart = static_cast<int>(bits >> 5 & 31) - 20;
    const int both = std::clamp(c + apart + 15, 1, 60), a = std::clamp(both - 15, 1, 30);
    const int b = std::clamp(both - a, 0, 30);
    const uint32_t fraction = (bits >> 10 & 3) == 0 ? random_() & 1023 : bits >> 12 & 1;
    with(f.a | static_cast<uint32_t>(a) << 10 | (bits >> 13 & 1) << 15,
         f.b | static_cast<uint32_t>(b) << 10 | (bits >> 14 & 1) << 15,
         fraction | static_cast<uint32_t>(c) << 10 | (bits >> 15 & 1) << 15);
  }

 private:
  std::vector<Factors> factors_ = hard_factors();
  std::mt19937 random_{3};
};

}  // namespace

TEST_CASE(
    "a * b + c of half pairs is the exact sum rounded once, for each half beside each two of "
    "twenty") {
  same_bits([](Waves& waves) {
    for (uint32_t half = 0; half < 0x10000; ++half) {
      for (const uint32_t x : edges) {
        for (const uint32_t y : edges) {
          if ((half + x + y) % 3 == 0) waves.add(half, x, y);
          if ((half + x + y) % 3 == 1) waves.add(x, half, y);
          if ((half + x + y) % 3 == 2) waves.add(x, y, half);
        }
      }
    }
  });
}

TEST_CASE("a * b + c of half pairs is the exact sum rounded once, near ties and of denormals") {
  same_bits([](Waves& waves) {
    Hard hard;
    for (unsigned k = 0; k < 1U << 23; ++k)
      hard.draw([&](uint32_t a, uint32_t b, uint32_t c) { waves.add(a, b, c); });
  });
}

TEST_CASE("a * b + c of half pairs is the exact sum rounded once, for any halves") {
  same_bits([](Waves& waves) {
    std::mt19937_64 random(4);
    for (unsigned k = 0; k < 1U << 23; ++k) {
      const uint64_t bits = random();
      waves.add(bits & 0xffff, bits >> 16 & 0xffff, bits >> 32 & 0xffff);
    }
  });
}

TEST_CASE("a * b + c of half pairs is the exact sum rounded once, for every a and b",
          "[.nightly]") {
  same_bits([](Waves& waves) {
    std::mt19937 random(5);
    for (uint64_t both = 0; both < uint64_t{1} << 32; ++both)
      waves.add(both & 0xffff, both >> 16 & 0xffff, random() & 0xffff);
  });
}
