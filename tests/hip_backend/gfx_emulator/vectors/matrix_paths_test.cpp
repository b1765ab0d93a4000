// Matrix products that a host path makes in a way of its own have the bits of the path below it. Of
// two sources that are NaN, portable and avx2 may give either.
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hip_backend/gfx_emulator/isa/operations.hpp"
#include "on_path.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace gfx_test;
using mla::gfx::Arch;
using mla::gfx::HostPath;

namespace {

using u32 = std::uint32_t;

struct Product {
  std::string name;
  Arch arch;
  unsigned number, rows, in_source, results;  // registers of A and of B, and of C and D
  bool bytes;
};

std::vector<Product> products() {
  std::vector<Product> out;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const auto& operations = mla::gfx::Operations::of(arch);
    const auto add = [&](unsigned m, unsigned k, const std::string& type) {
      const std::string size = std::to_string(m) + "x" + std::to_string(m) + "x";
      const std::string name = "v_mfma_f32_" + size + std::to_string(k) + "_" + type;
      const int index = operations.named(name);
      if (index < 0) return;
      unsigned number = 0;
      while (operations.find(mla::gfx::Encoding::vop3p, number) != index) ++number;
      const bool bytes = type != "bf16";
      out.push_back({name, arch, number, m, m * k / 64 / (bytes ? 4 : 2), m * m / 64, bytes});
    };
    for (const auto& [m, k] : {std::pair{32U, 8U}, {16U, 16U}, {16U, 32U}, {32U, 16U}})
      add(m, k, "bf16");
    for (const char* const type : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"})
      add(16, 32, type), add(32, 16, type);
  }
  return out;
}

using Random = std::mt19937;
u32 float_with(Random& random, u32 lowest, u32 exponents) {
  return (random() & 0x807fffff) | (lowest + random() % exponents) << 23;
}
u32 half_with(Random& random, u32 lowest, u32 exponents) {
  return float_with(random, lowest, exponents) >> 16;
}
u32 one_of(Random& random, const std::vector<u32>& from) {
  return from[random() % from.size()];
}
u32 denormal(Random& random) {
  return random() & 0x807fffff;
}

// What the numbers of a launch are like: an element of bf16 and of eight bits, an addend, and how
// many rows and columns of 256 are zeros.
struct Mix {
  const char* name;
  std::function<u32(Random&)> half, byte, addend;
  unsigned zeros = 0;
};

u32 any_byte(Random& random) {
  return random() & 0xff;
}
// Nothing infinite and no NaN in any of the formats.
u32 ordinary_byte(Random& random) {
  const u32 byte = random() % 0x7b;
  return byte == 0 ? 0 : byte | (random() & 0x80);
}
u32 ordinary_half(Random& random) {
  return half_with(random, 107, 40);
}
u32 ordinary_float(Random& random) {
  return float_with(random, 107, 40);
}

const std::vector<Mix> mixes = {
    {"ordinary numbers", ordinary_half, ordinary_byte, ordinary_float},
    {"denormal addends, rows and columns of zeros", ordinary_half, ordinary_byte, denormal, 64},
    {"denormal addends, one number of a row",
     [](Random& r) { return r() % 16 == 0 ? ordinary_half(r) : 0; },
     [](Random& r) { return r() % 16 == 0 ? ordinary_byte(r) : 0; }, denormal},
    {"zeros, one addend the smallest or the largest denormal", [](Random&) { return 0U; },
     [](Random&) { return 0U; },
     [](Random& r) {
       return r() % 256 == 0 ? one_of(r, {1, 0x80000001, 0x007fffff, 0x807fffff}) : 0;
     }},
    {"sums that cancel out", [](Random& r) { return one_of(r, {0x3f80, 0xbf80, 0, 0x8000}); },
     [](Random& r) { return one_of(r, {0x40, 0xc0, 0, 0x38}); },
     [](Random& r) { return one_of(r, {0, 0x80000000, 1, 0x80000001, 0x3f800000, 0x007fffff}); }},
    {"products about 2^-98", [](Random& r) { return half_with(r, 127 - 53, 9); }, any_byte,
     [](Random& r) { return float_with(r, 0, 40); }},
    {"products about 2^-126", [](Random& r) { return half_with(r, 127 - 68, 10); }, any_byte,
     [](Random& r) { return float_with(r, 0, 3); }},
    {"one denormal source",
     [](Random& r) { return r() % 512 == 0 ? denormal(r) >> 16 : ordinary_half(r); }, ordinary_byte,
     ordinary_float},
    {"few sources, one of them denormal and the others large",
     [](Random& r) {
       if (r() % 8 != 0) return 0U;
       return r() % 32 == 0 ? denormal(r) >> 16 : half_with(r, 127 + 35, 8);
     },
     ordinary_byte, [](Random&) { return 0U; }},
    {"sums past the largest number", [](Random& r) { return half_with(r, 127 + 60, 8); },
     ordinary_byte, [](Random& r) { return float_with(r, 253, 2); }},
    {"addends that are infinite or NaN", ordinary_half, ordinary_byte,
     [](Random& r) {
       return r() % 64 == 0 ? float_with(r, 255, 1) & ~(r() % 2 * 0x7fffff) : ordinary_float(r);
     }},
    {"a source that is infinite or NaN",
     [](Random& r) { return r() % 256 == 0 ? half_with(r, 255, 1) : ordinary_half(r); },
     [](Random& r) { return r() % 256 == 0 ? any_byte(r) : ordinary_byte(r); }, ordinary_float},
    {"anything", [](Random& r) { return r() >> 16; }, any_byte,
     [](Random& r) { return static_cast<u32>(r()); }},
};

bool is_nan(u32 bits) {
  return (bits & 0x7fffffff) > 0x7f800000;
}

Rows draw(const Product& p, const Mix& mix, Random& random) {
  Rows out;
  const auto sources = [&] {
    u32 zero[OnPath::threads / 64][32];
    for (auto& wave : zero)
      for (u32& row : wave) row = random() % 256 < mix.zeros ? 0 : ~0U;
    for (unsigned k = 0; k < p.in_source; ++k) {
      for (unsigned t = 0; t < OnPath::threads; ++t) {
        u32 word = 0;
        for (unsigned e = 0; e < 32; e += p.bytes ? 8 : 16)
          word |= (p.bytes ? mix.byte(random) : mix.half(random)) << e;
        out.push_back(word & zero[t / 64][t % p.rows]);
      }
    }
  };
  sources(), sources();
  for (unsigned k = 0; k < p.results * OnPath::threads; ++k) out.push_back(mix.addend(random));
  return out;
}

// The instruction with its result in registers of its own, in those of C, and over a source; on
// the portable path, where it takes long, in those of C.
void same_bits(const Product& p, const Mix& mix, HostPath lower, HostPath upper, bool any_nan) {
  const unsigned a = OnPath::first, b = a + p.in_source, c = b + p.in_source;
  Random random(p.number);
  for (const unsigned to : {c + p.results, c, a, b, c + 4}) {
    if (any_nan && to != c) continue;
    const OnPath::Options options = {
        .sources = 2 * p.in_source + p.results, .result = to, .results = p.results, .arch = p.arch};
    const Words words = encode::mfma(p.number, {.dst = to, .src = {a, b, c}});
    const OnPath expect(lower, words, options), find(upper, words, options);
    const int rounds = any_nan ? 1 : to == c || to == c + p.results ? 4 : 1;
    for (int round = 0; round < rounds; ++round) {
      const Rows data = draw(p, mix, random), expected = expect.run(data), found = find.run(data);
      const auto same = [&](u32 x, u32 y) { return x == y || (any_nan && is_nan(x) && is_nan(y)); };
      const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin(), same);
      if (e == expected.end()) continue;
      const auto at = static_cast<unsigned>(e - expected.begin());
      FAIL(p.name << ", " << mix.name << ", result at v" << to - vgpr << ", round " << round
                  << ", register " << at / OnPath::threads << ", thread " << at % OnPath::threads
                  << ": " << std::hex << *e << " on " << name(lower) << ", " << *f << " on "
                  << name(upper));
    }
  }
}

void all_products(HostPath lower, HostPath upper, bool any_nan) {
  if (!mla::gfx::has_host_path(upper))
    return mla::test::skip(std::string("this machine cannot execute ") + name(upper));
  const auto all = products();
  REQUIRE(all.size() == 4 + 2 * 8 + 2);
  for (const Product& p : all)
    for (const Mix& mix : mixes) same_bits(p, mix, lower, upper, any_nan);
}

}  // namespace

TEST_CASE("products of bf16 and 8-bit floats have the same bits on avx2 and avx512_bf16") {
  all_products(HostPath::avx2, HostPath::avx512_bf16, false);
}

TEST_CASE("products of bf16 and 8-bit floats have the same numbers on portable and avx2") {
  all_products(HostPath::portable, HostPath::avx2, true);
}
