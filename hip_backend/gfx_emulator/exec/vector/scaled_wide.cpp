// gfx950: conversions of 32 numbers to and from 6-bit floats with one scale: v_cvt_scalef32_pk32_*,
// _sr_pk32_* and _2xpk16_*. Assumptions SIX_BIT_ORDER and STOCHASTIC_PASSES.
#include "hip_backend/gfx_emulator/exec/scaled-inl.hpp"

namespace mla::gfx {
namespace {

constexpr unsigned numbers = 32, packed_words = 6, packed_bits = 6;

// Where the numbers of an encoding lie, and whether the source between them and the scale has
// random bits.
enum class Form : u8 { plain, interleaved, stochastic };

inline void put_code(u32* words, unsigned k, u32 code) {
  const unsigned bit = packed_bits * k, word = bit / 32;
  const u64 placed = u64{code} << bit % 32;
  words[word] |= static_cast<u32>(placed);
  if (bit % 32 + packed_bits > 32) words[word + 1] |= static_cast<u32>(placed >> 32);
}

inline u32 code_of(const u32* words, unsigned k) {
  const unsigned bit = packed_bits * k, word = bit / 32;
  const u32 above = bit % 32 + packed_bits > 32 ? words[word + 1] : 0;
  return static_cast<u32>((words[word] | u64{above} << 32) >> bit % 32) & 0x3f;
}

// Number `k` of a lane: one in each register, or two.
template <Wide wide>
inline u32 number_at(const u32* first, unsigned lane, unsigned k) {
  if constexpr (wide == Wide::f32) return first[k * lanes + lane];
  return first[k / 2 * lanes + lane] >> 16 * (k % 2) & 0xffff;
}

template <Small small, Wide wide, Form form>
void encode_all(Wave& w, const Inst& i) {
  keep_denormals(w);
  constexpr bool two = form == Form::interleaved, random = form == Form::stochastic;
  const u32* const first = w.reg(i.src[0]);
  const u32* const second = two ? w.reg(i.src[1]) : nullptr;
  const Source<u32> seeds(w, i, 1), scales(w, i, form == Form::plain ? 1 : 2);
  const Widened<wide> number(w);
  u32* const to = w.reg(i.dst);
  const u64 exec = w.exec();
  for (unsigned l = 0; l < lanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const double scale = scale_of(scales[l]);
    u32 seed = random ? seeds[l] : 0;
    u32 words[packed_words] = {};
    for (unsigned k = 0; k < numbers; ++k) {
      const u32 bits = !two ? number_at<wide>(first, l, k)
                            : number_at<wide>(k % 2 == 0 ? first : second, l, k / 2);
      put_code(words, k, encode_small<small>(scaled_down(number(bits), scale), random, seed));
      if (random) seed = next_random(seed);
    }
    for (unsigned k = 0; k < packed_words; ++k) to[k * lanes + l] = words[k];
  }
}

template <Small small, Wide wide>
void decode_all(Wave& w, const Inst& i) {
  keep_denormals(w);
  const u32* const from = w.reg(i.src[0]);
  const Source<u32> scales(w, i, 1);
  u32* const to = w.reg(i.dst);
  const u64 exec = w.exec();
  for (unsigned l = 0; l < lanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const double scale = scale_of(scales[l]);
    u32 words[packed_words];
    for (unsigned k = 0; k < packed_words; ++k) words[k] = from[k * lanes + l];
    const auto value = [&](unsigned k) {
      return narrowed<wide>(decode_small(code_of(words, k), format_of(small)) * scale);
    };
    constexpr unsigned each = wide == Wide::f32 ? 1 : 2;  // numbers in a register
    for (unsigned k = 0; k < numbers; k += each) {
      to[k / each * lanes + l] = each == 1 ? value(k) : value(k) | value(k + 1) << 16;
    }
  }
}

#define ENCODE(op, small, wide, form) \
  {"v_cvt_scalef32_" op, encode_all<small, wide, form>, Only::gfx950}
#define DECODE(op, small, wide) {"v_cvt_scalef32_pk32_" op, decode_all<small, wide>, Only::gfx950}
#define SIX_BITS(name, small)                                                       \
  ENCODE("2xpk16_" name "_f32", small, Wide::f32, Form::interleaved),               \
      ENCODE("pk32_" name "_f16", small, Wide::f16, Form::plain),                   \
      ENCODE("pk32_" name "_bf16", small, Wide::bf16, Form::plain),                 \
      ENCODE("sr_pk32_" name "_f32", small, Wide::f32, Form::stochastic),           \
      ENCODE("sr_pk32_" name "_f16", small, Wide::f16, Form::stochastic),           \
      ENCODE("sr_pk32_" name "_bf16", small, Wide::bf16, Form::stochastic),         \
      DECODE("f32_" name, small, Wide::f32), DECODE("f16_" name, small, Wide::f16), \
      DECODE("bf16_" name, small, Wide::bf16)

const Entry entries[] = {SIX_BITS("fp6", Small::fp6), SIX_BITS("bf6", Small::bf6)};

}  // namespace

Entries MLA_GFX_PATH::scaled_wide_entries() {
  return entries;
}

}  // namespace mla::gfx
