// Assumptions about where elements go: LDS, lanes, layouts.
#include <array>
#include <bit>
#include <cmath>

#include "hip_backend/assumptions/tables.hpp"
#include "hip_backend/gfx_emulator/exec/assumptions.hpp"

namespace mla::hip {
namespace {

using u32 = std::uint32_t;

LaneWords apertures(Arch /*arch*/, const LaneWords& /*in*/) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    word(out, lane, 0) = gfx::assumed::shared_aperture;
    word(out, lane, 1) = gfx::assumed::private_aperture;
  }
  return out;
}

// Word 0: byte offset into the input, every fifth lane's past its end. Word 1: the lane is on.
LaneWords dma_inputs() {
  LaneWords in = scattered_words();
  const u32 bytes = 4 * static_cast<u32>(in.size());
  for (u32 lane = 0; lane < kLaneCount; ++lane) {
    word(in, lane, 0) = lane % 5 == 0 ? bytes + 4 * lane : lane * 68 % (bytes - 64);
    word(in, lane, 1) = lane % 3 != 1 ? 1 : 0;
  }
  return in;
}

LaneWords dma_expected(Arch /*arch*/, const LaneWords& in) {
  std::array<u32, kLaneCount + 4> lds{};
  for (u32 k = 0; k < lds.size(); ++k) lds.at(k) = 0xdddd0000U + k;
  constexpr u32 offset = 4;  // of the instruction; it counts on both sides
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    if (word(in, lane, 1) == 0) continue;
    const std::size_t from = (word(in, lane, 0) + offset) / 4;
    lds.at(lane + offset / 4) = from < in.size() ? in[from] : 0;
  }
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    word(out, lane, 0) = lds.at(lane);
    word(out, lane, 1) = lds.at(kLaneCount + lane % 4);
  }
  return out;
}

LaneWords dma_masked(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const u32 before = 0xdddd0000U + static_cast<u32>(lane);
    word(out, lane, 0) = lane % 2 == 0 ? word(in, lane, 0) : before;
    word(out, lane, 1) = before;
  }
  return out;
}

LaneWords out_of_range(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) word(out, lane, 0) = word(in, lane, 0);
  return out;
}

// The odd lanes are off: they keep what they hold, and the even ones read zero from them.
LaneWords inactive_sources(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 1; lane < kLaneCount; lane += 2)
    word(out, lane, 0) = word(out, lane, 1) = word(in, lane, 1);
  return out;
}

// In blocks of `rows` lanes: the odd ones of the first operand for the even ones of the second.
void swap_blocks(LaneWords& words, std::size_t rows, std::size_t first) {
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    if (lane / rows % 2 == 1)
      std::swap(word(words, lane, first), word(words, lane - rows, first + 1));
}

LaneWords permlanes(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    for (std::size_t k = 0; k < 4; ++k) word(out, lane, k) = word(in, lane, k % 2);
  swap_blocks(out, 16, 0);
  swap_blocks(out, 32, 2);
  return out;
}

// Bits [at, at + 1) of a lane's words.
u32 bit(const LaneWords& words, std::size_t lane, std::size_t at) {
  return word(words, lane, at / 32) >> at % 32 & 1U;
}

// `total` bits a lane, in elements of `bits`; results from word `first` on.
void transpose(const LaneWords& in, LaneWords& out, std::size_t bits, std::size_t total,
               std::size_t first) {
  const std::size_t each = total / bits;
  const std::size_t apart = 16 / each;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    const std::size_t block = lane / 16 * 16;
    const std::size_t n = lane % 16;
    for (std::size_t at = 0; at < total; ++at) {
      const std::size_t from = block + apart * (at / bits) + n / each;
      word(out, lane, first + at / 32) |= bit(in, from, n % each * bits + at % bits) << at % 32;
    }
  }
}

LaneWords transposed(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  transpose(in, out, 16, 64, 0);
  transpose(in, out, 8, 64, 2);
  transpose(in, out, 4, 64, 4);
  transpose(in, out, 6, 96, 6);
  return out;
}

// Which k are 1 in row i of A and column i of B: the bits of k, their complements, all, a third.
// With them every order of k on one side alone changes some sum.
bool present(std::size_t i, std::size_t k) {
  if (i < 7) return (k >> i & 1U) != 0;
  if (i < 14) return (k >> (i - 7) & 1U) == 0;
  return i == 14 || k % 3 == 0;
}

LaneWords matrix_inputs() {
  LaneWords in = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t t = 0; t < 32; ++t) {
      const std::size_t group = lane / 16;
      if (present(lane % 16, 16 * group + t % 16 + 64 * (t / 16)))
        word(in, lane, t / 4) |= 0x38U << 8 * (t % 4);  // e4m3: 1
      if (present(lane % 16, 32 * group + t))
        word(in, lane, 8 + t / 8) |= 0x2U << 4 * (t % 8);  // fp4: 1
    }
    word(in, lane, 12) = 126 + static_cast<u32>(lane * 5 % 4);
    word(in, lane, 13) = 126 + static_cast<u32>(lane * 3 / 4 % 4);
  }
  return in;
}

LaneWords matrix_expected(Arch /*arch*/, const LaneWords& in) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t r = 0; r < 4; ++r) {
      const std::size_t row = 4 * (lane / 16) + r;
      const std::size_t column = lane % 16;
      float plain = 0;
      float scaled = 0;
      for (std::size_t k = 0; k < 128; ++k) {
        if (!present(row, k) || !present(column, k)) continue;
        const std::size_t group = k / 32;
        const u32 exponents = word(in, group * 16 + row, 12) + word(in, group * 16 + column, 13);
        plain += 1;
        scaled += std::ldexp(1.0F, static_cast<int>(exponents) - 2 * 127);
      }
      word(out, lane, r) = std::bit_cast<u32>(plain);
      word(out, lane, 4 + r) = std::bit_cast<u32>(scaled);
    }
  }
  return out;
}

// Number k of a lane in six bits (e2m3).
u32 six_bits(std::size_t lane, std::size_t k) {
  return static_cast<u32>(5 * k + lane) % 64;
}
// The same as a half: seven more bits of fraction, and 15 is the exponent of 1 instead of 1.
u32 half_of(u32 code) {
  const u32 sign = code / 32 * 0x8000U;
  u32 magnitude = code % 32;
  if (magnitude == 0) return sign;
  if (magnitude >= 8) return sign | ((magnitude + 14 * 8) << 7U);
  u32 exponent = 15;
  for (; magnitude < 8; magnitude *= 2) --exponent;
  return sign | exponent << 10U | (magnitude % 8) << 7U;
}

LaneWords six_bit_inputs() {
  LaneWords in = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane)
    for (std::size_t k = 0; k < 32; ++k)
      word(in, lane, k / 2) |= half_of(six_bits(lane, k)) << 16 * (k % 2);
  return in;
}

LaneWords six_bit_expected(Arch /*arch*/, const LaneWords& /*in*/) {
  LaneWords out = no_words();
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t bit = 0; bit < 192; ++bit) {
      const std::size_t k = bit / 6;
      const u32 whole = six_bits(lane, k) >> bit % 6 & 1U;
      const u32 mixed = six_bits(lane, k % 2 * 16 + k / 2) >> bit % 6 & 1U;
      word(out, lane, bit / 32) |= whole << bit % 32;
      word(out, lane, 6 + bit / 32) |= mixed << bit % 32;
    }
  }
  return out;
}

constexpr auto kSameBits = Assumption::Compare::bits;
constexpr std::array<Assumption, 9> kLaneTable = {{
    {"APERTURES", "apertures", true, false, 2, kSameBits, no_words, apertures},
    {"LDS_DMA_ADDRESS", "lds_dma", true, false, 2, kSameBits, dma_inputs, dma_expected},
    {"LDS_DMA_MASK", "lds_dma_mask", true, false, 2, kSameBits, scattered_words, dma_masked},
    {"OUT_OF_RANGE_LDS", "lds_out_of_range", true, true, 2, kSameBits, scattered_words,
     out_of_range},
    {"DPP_INACTIVE", "dpp_inactive", true, false, 2, kSameBits, scattered_words, inactive_sources},
    {"PERMLANE_SWAP_EXEC", "permlane_swap", false, false, 4, kSameBits, scattered_words, permlanes},
    {"TRANSPOSED_READ", "transposed_read", false, false, 9, kSameBits, scattered_words, transposed},
    {"F8F6F4_K", "f8f6f4", false, false, 8, kSameBits, matrix_inputs, matrix_expected},
    {"SIX_BIT_ORDER", "six_bit_order", false, false, 13, kSameBits, six_bit_inputs,
     six_bit_expected},
}};

}  // namespace

LaneWords scattered_words() {
  LaneWords words = no_words();
  u32 state = 1;
  for (u32& w : words) w = state = state * 1664525U + 1013904223U;
  return words;
}

std::span<const Assumption> lane_assumptions() {
  return kLaneTable;
}

}  // namespace mla::hip
