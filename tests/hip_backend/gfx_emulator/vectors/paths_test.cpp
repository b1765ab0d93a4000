// Operations that AVX2 executes in a way of its own give the bits of the portable path, for far
// more values than the vectors have.
#include <algorithm>
#include <bit>
#include <iterator>
#include <random>
#include <string>

#include "on_path.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace gfx_test;
using mla::gfx::HostPath;

namespace {

constexpr unsigned threads = OnPath::threads, first = OnPath::first, result = vgpr + 8;

// Both paths, `rounds` times over what `draw` gives.
template <class Draw>
void same_bits(const Words& operation, unsigned sources, std::uint32_t mode, int rounds, Draw draw,
               HostPath path = HostPath::avx2, unsigned destination = result) {
  const OnPath::Options options = {.sources = sources, .result = destination, .mode = mode};
  const OnPath portable(HostPath::portable, operation, options), other(path, operation, options);
  for (int round = 0; round < rounds; ++round) {
    Rows data(std::size_t{sources} * threads);
    std::generate(data.begin(), data.end(), draw);
    const Rows expected = portable.run(data), found = other.run(data);
    const auto [e, f] = std::mismatch(expected.begin(), expected.end(), found.begin());
    if (e == expected.end()) continue;
    const auto at = e - expected.begin();
    std::string text;
    for (unsigned k = 0; k < sources; ++k)
      text += std::to_string(data[k * threads + static_cast<std::size_t>(at)]) + " ";
    FAIL("mode " << mode << ", of " << text << ": " << *e << ", " << mla::gfx::name(path) << " "
                 << *f);
  }
}

}  // namespace

TEST_CASE("2^x has the same bits on the AVX2 and AVX-512 paths as on the portable one") {
  const auto path = GENERATE(HostPath::avx2, HostPath::avx512_bf16);
  if (!mla::gfx::has_host_path(path))
    return mla::test::skip(std::string("no ") + mla::gfx::name(path) + " here");
  std::mt19937 random(1);
  const auto number = [&] {
    const std::uint32_t bits = random();
    if (bits % 64 == 0) return bits * 2654435761U;  // anything: NaN, infinities, denormals
    return std::bit_cast<std::uint32_t>(static_cast<float>(bits) * 0x1p-32F * 320 - 160);
  };
  const auto ordinary = [&] {
    return std::bit_cast<std::uint32_t>(static_cast<float>(random()) * 0x1p-32F * 240 - 120);
  };
  // Of these the shorter arithmetic rounds to a neighbour.
  constexpr std::uint32_t near_the_middle[] = {0x3f48261f, 0x3f53299f, 0x3f5dd374, 0x3f68277c,
                                               0x3f7f93e7, 0x3f896290, 0xbf188bd3, 0xbf2360f2,
                                               0xbf423eaa, 0xbf56a973, 0xbdc0089e, 0xbf76845b};
  const auto hard = [&] { return near_the_middle[random() % std::size(near_the_middle)]; };
  for (const std::uint32_t mode : {0xf0U, 0xc0U, 0xffU}) {
    same_bits(encode::vop1(0x20, result, first), 1, mode, 1, hard, path);
    same_bits(encode::vop1(0x20, result, first), 1, mode, 200, number, path);
    same_bits(encode::vop1(0x20, result, first), 1, mode, 200, ordinary, path);
  }
}

TEST_CASE(
    "fused multiply-adds of f16 pairs have the same bits on the AVX2 and AVX-512 paths as on the "
    "portable one, whatever MODE says of f32 and whether the result replaces a source") {
  const auto path = GENERATE(HostPath::avx2, HostPath::avx512_bf16);
  if (!mla::gfx::has_host_path(path))
    return mla::test::skip(std::string("no ") + mla::gfx::name(path) + " here");
  std::mt19937 random(2);
  constexpr std::uint32_t edges[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,
                                     0x8400, 0x3c00, 0xbc00, 0x3bff, 0x7bff, 0xfbff,
                                     0x7c00, 0xfc00, 0x7c01, 0xfe05, 0x1400, 0x0c00};
  const auto half = [&] {
    const std::uint32_t bits = random();
    return bits >> 30 == 0 ? edges[bits % std::size(edges)] : bits & 0xffff;
  };
  const auto pair = [&] { return half() | half() << 16; };
  const encode::Vop3p plain = {.dst = result, .src = {first, first + 1, first + 2}};
  auto chosen = plain;
  chosen.op_sel = 5, chosen.op_sel_hi = 2, chosen.neg = 6, chosen.neg_hi = 3;
  auto constant = plain;
  constant.src[1] = 242;  // 1.0 in the low half
  auto clamped = plain;
  clamped.clamp = true;
  for (const std::uint32_t mode : {0xf0U, 0xc0U, 0xf1U, 0xf2U, 0xffU}) {
    for (auto fields : {plain, chosen, constant, clamped}) {
      for (const unsigned destination : {result, first, first + 1, first + 2}) {
        fields.dst = destination;
        same_bits(encode::vop3p(0x0e, fields), 3, mode, 15, pair, path, destination);
      }
    }
  }
}
