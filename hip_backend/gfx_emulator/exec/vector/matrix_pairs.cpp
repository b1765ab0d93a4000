// Matrix products of bf16 and 8-bit floats by vdpbf16ps, which takes two products at a time: with
// the bits of one fused multiply-add after the other (matrix-inl.hpp).
//
// vdpbf16ps adds the product of the upper halves of its words, then that of the lower ones, each
// rounded to nearest even. So a word holds the earlier k above. It takes denormals for 0, before
// and after. That shows in no result if
// 1. no source is denormal, and no product but 0 lies below 2^-98;
// 2. no element has an accumulator that is denormal and only products that are 0.
// Proof: a product of at least 2^-98 has 16 bits, so its last one is at least 2^-113, and adding
// less than 2^-126 rounds to the product itself. From the first product but 0 on a sum is 0 or at
// least 2^-122: it is at least 2^-99, or lies so close to the last addend that it is exact, and a
// multiple of the last bit of numbers of at least 2^-99. Until then it is the accumulator.
// Where 1 or 2 does not hold, or a result is infinite or NaN, multiply-adds make the product. Which
// NaN comes of two sources that are NaN depends on their code: it is that of the path below.
#include <immintrin.h>

#include <string_view>

#include "hip_backend/gfx_emulator/exec/matrix-inl.hpp"

namespace mla::gfx {
namespace {

// Of bf16, two a word: the exponent field of the smallest number but 0, more than that of any if
// there is none; with `beyond`, 0 where one is infinite or NaN.
struct Halves {
  __m512i below = _mm512_setzero_si512(), most = _mm512_setzero_si512();

  template <bool beyond>
  void look(__m512i halves) {
    // 2^16 less twice the magnitude; 0 stays 0.
    below = _mm512_max_epu16(below, _mm512_mullo_epi16(halves, _mm512_set1_epi16(-2)));
    if (beyond) most = _mm512_max_epu16(most, _mm512_add_epi16(halves, halves));
  }
  [[nodiscard]] u32 exponent() const {
    if (_mm512_cmpge_epu16_mask(most, _mm512_set1_epi16(static_cast<short>(0xff00))) != 0) return 0;
    const __m256i sixteen =
        _mm256_max_epu16(_mm512_castsi512_si256(below), _mm512_extracti64x4_epi64(below, 1));
    const __m128i eight =
        _mm_max_epu16(_mm256_castsi256_si128(sixteen), _mm256_extracti128_si256(sixteen, 1));
    const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi32(-1)));
    return (static_cast<u32>(_mm_extract_epi16(least, 0)) + 1) >> 8;
  }
};

// A result of several tiles has no way back to the path below once one of them is written.
template <class S>
constexpr bool several = S::rows > 16;

// Words of two bf16: the elements 2 * pair, above, and 2 * pair + 1 of each row.
template <class S>
struct Pairs {
  alignas(64) u32 words[S::depth / 2][S::rows];
  // That of the smallest number but 0; 0 where some are no numbers for vdpbf16ps.
  u32 exponent;
  [[nodiscard]] __m512i at(unsigned pair, unsigned row) const {
    return _mm512_load_si512(&words[pair][row]);
  }
};

// Those where they lie.
template <class S>
struct Registers {
  const u32* words;
  u32 exponent;
  [[nodiscard]] __m512i at(unsigned pair, unsigned row) const {
    constexpr unsigned in_group = S::each / 2;
    const unsigned group = pair / in_group, n = pair % in_group;
    return _mm512_rol_epi32(_mm512_load_si512(words + n * lanes + group * S::rows + row), 16);
  }
};

// Sixteen lanes at a time: with(their words, where the first pair of theirs goes).
template <class S, class F>
inline void each_row_of_sixteen(const u32* first, unsigned in_register, Pairs<S>& out, F with) {
  for (unsigned n = 0; n < S::each / in_register; ++n) {
    for (unsigned lane = 0; lane < lanes; lane += 16) {
      const unsigned pair = lane / S::rows * S::each / 2 + n * in_register / 2;
      with(_mm512_load_si512(first + n * lanes + lane), &out.words[pair][lane % S::rows]);
    }
  }
}

template <class S, class Format>
  requires std::is_same_v<Format, Bf16>
inline void pack(const u32* first, Pairs<S>& out) {
  Halves halves;
  each_row_of_sixteen(first, 2, out, [&](__m512i words, u32* to) {
    halves.look<several<S>>(words);
    _mm512_store_si512(to, _mm512_rol_epi32(words, 16));
  });
  out.exponent = halves.exponent();
}

template <class S, class Format>
inline void pack(const u32* first, Registers<S>& out) {
  Halves halves;
  for (unsigned k = 0; k < S::each / 2 * lanes; k += 16) {
    halves.look<several<S>>(_mm512_load_si512(first + k));
  }
  out = {first, halves.exponent()};
}

// The upper and the lower byte of the bf16 of each magnitude of an 8-bit float.
template <Fp8 kind>
struct ByteTable {
  alignas(64) u8 low[128] = {}, high[128] = {};
  constexpr ByteTable() {
    for (u32 magnitude = 0; magnitude < 128; ++magnitude) {
      const u32 bits = std::bit_cast<u32>(decode_fp8(magnitude, format_of(kind)));
      low[magnitude] = static_cast<u8>(bits >> 16), high[magnitude] = static_cast<u8>(bits >> 24);
    }
  }
};
template <Fp8 kind>
constexpr ByteTable<kind> byte_table;

inline bool any_odd(const Fp8Format& format, __m512i bytes) {
  if (format.fnuz) return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(-128)) != 0;
  const auto limit = static_cast<char>(2 * format.largest);
  return _mm512_cmpgt_epu8_mask(_mm512_add_epi8(bytes, bytes), _mm512_set1_epi8(limit)) != 0;
}

// The smallest number of all formats is 2^-17.
template <class S, class Format>
  requires(Format::in_register == 4)
inline void pack(const u32* first, Pairs<S>& out) {
  constexpr const auto& table = byte_table<Format::name>;
  const auto at = [](const u8* from) { return _mm512_load_si512(from); };
  const __m512i low0 = at(table.low), low1 = at(table.low + 64);
  const __m512i high0 = at(table.high), high1 = at(table.high + 64);
  const __m512i sign = _mm512_set1_epi32(static_cast<i32>(0x80008000));
  // Of each four bytes: the second and the first, each twice, or the fourth and the third.
  const __m512i pick[2] = {_mm512_set4_epi32(0x0c0c0d0d, 0x08080909, 0x04040505, 0x00000101),
                           _mm512_set4_epi32(0x0e0e0f0f, 0x0a0a0b0b, 0x06060707, 0x02020303)};
  bool odd = false;
  each_row_of_sixteen(first, 4, out, [&](__m512i bytes, u32* to) {
    odd = odd || any_odd(Format::format, bytes);
    for (unsigned half = 0; half < 2; ++half) {
      const __m512i twice = _mm512_shuffle_epi8(bytes, pick[half]);
      const __m512i low = _mm512_permutex2var_epi8(low0, twice, low1);
      const __m512i high = _mm512_permutex2var_epi8(high0, twice, high1);
      const __m512i magnitude = _mm512_mask_mov_epi8(low, 0xaaaaaaaaaaaaaaaa, high);
      constexpr int with_sign = 0xf8;  // magnitude | (twice & sign)
      _mm512_store_si512(to + half * S::rows,
                         _mm512_ternarylogic_epi32(magnitude, twice, sign, with_sign));
    }
  });
  out.exponent = odd ? 0 : 127 - 17;
}

// A row of sixteen columns: where it lies in the registers of the result.
template <class S>
constexpr unsigned place(unsigned row, unsigned column) {
  const unsigned run = lanes / S::rows;  // groups of four rows in a register
  return (row / 4 / run * 4 + row % 4) * lanes + row / 4 % run * S::rows + column;
}

// Classes of vfpclassps.
constexpr int is_zero = 0x06, is_beyond = 0x99;

// Whether with(row) is of the class in any row and column.
template <int classes, class F>
inline bool any_of_class(F with) {
  __mmask16 found = 0;
  for (unsigned r = 0; r < 16; ++r) found |= _mm512_fpclass_ps_mask(with(r), classes);
  return found != 0;
}

// Not inlined: it would have its own copy of the addends in registers all the time.
template <class S>
[[gnu::noinline]] bool any_denormal(const u32* c) {
  // Twice the magnitude, less one: 0 is above all then.
  const __m512i one = _mm512_set1_epi32(1);
  __m512i least = _mm512_set1_epi32(-1);
  for (unsigned r = 0; r < 16; ++r) {
    const __m512i bits = _mm512_load_si512(c + place<S>(r, 0));
    least = _mm512_min_epu32(least, _mm512_sub_epi32(_mm512_add_epi32(bits, bits), one));
  }
  return _mm512_cmplt_epu32_mask(least, _mm512_set1_epi32(0x00ffffff)) != 0;
}

// Whether the sums may not be those of multiply-adds, see above.
template <class S>
inline bool doubtful(const __m512 (&sums)[16], const u32* c) {
  const auto sum = [&](unsigned r) { return sums[r]; };
  if (!any_of_class < is_zero | is_beyond > (sum)) return false;
  return any_of_class<is_beyond>(sum) || any_denormal<S>(c);
}

// The sums of sixteen rows and columns; with(sum, left, right) adds two products.
template <class S, class Right, class F>
inline void sum_tile(const u32* a, const Right& b, unsigned column, const u32* c,
                     __m512 (&sums)[16], F with) {
  for (unsigned r = 0; r < 16; ++r) sums[r] = _mm512_load_ps(c + place<S>(r, 0));
  for (unsigned pair = 0; pair < S::depth / 2; ++pair, a += S::rows) {
    const __m512i right = b.at(pair, column);
    for (unsigned r = 0; r < 16; ++r) {
      sums[r] = with(sums[r], _mm512_set1_epi32(static_cast<i32>(a[r])), right);
    }
  }
}

template <class S, class Right>
[[gnu::noinline]] void multiply_one_by_one(const u32* a, const Right& b, unsigned column,
                                           const u32* c, u32* d) {
  const auto above = [](__m512i words) {
    const __m512i upper = _mm512_set1_epi32(static_cast<i32>(0xffff0000));
    return _mm512_castsi512_ps(_mm512_and_si512(words, upper));
  };
  const auto below = [](__m512i words) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(words, 16));
  };
  __m512 sums[16];
  sum_tile<S>(a, b, column, c, sums, [&](__m512 sum, __m512i left, __m512i right) {
    sum = _mm512_fmadd_ps(above(left), above(right), sum);
    return _mm512_fmadd_ps(below(left), below(right), sum);
  });
  for (unsigned r = 0; r < 16; ++r) _mm512_store_ps(d + place<S>(r, 0), sums[r]);
}

// False: nothing is written, and the sums may not be those of multiply-adds. Not inlined: GCC would
// not read the words of A from memory again, but take them out of the vectors that were written
// there, which is slow.
template <class S, class Right>
[[gnu::noinline]] bool multiply_pairs(const u32* a, const Right& b, unsigned column, const u32* c,
                                      u32* d) {
  __m512 sums[16];
  sum_tile<S>(a, b, column, c, sums, [](__m512 sum, __m512i left, __m512i right) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(left),
                            reinterpret_cast<__m512bh>(right));
  });
  if (doubtful<S>(sums, c)) return false;
  for (unsigned r = 0; r < 16; ++r) _mm512_store_ps(d + place<S>(r, 0), sums[r]);
  return true;
}

// The handler of the path below.
Handler below(std::string_view name, Only only) {
  for (const Entry& entry : avx2::matrix_entries())
    if (entry.name == name && entry.only == only) return entry.run;
  return nullptr;
}

// Whether that is done.
template <class S, class FA, class FB>
bool by_pairs(Wave& w, const Inst& i) {
  constexpr bool bytes = FB::in_register == 4;
  if (i.blgp != 0 || (!bytes && overlaps(i, 1)) || wants_exact(w)) return false;
  Pairs<S> a;
  std::conditional_t<bytes, Pairs<S>, Registers<S>> b;
  pack<S, FA>(w.reg(i.src[0]), a);
  pack<S, FB>(w.reg(i.src[1]), b);
  if (a.exponent == 0 || b.exponent == 0 || a.exponent + b.exponent < 2 * 127 - 98) return false;
  keep_denormals(w);
  const Accumulator<S::result> accumulator(w, i);
  u32* const d = w.reg(i.dst);
  for (unsigned row = 0; row < S::rows; row += 16) {
    for (unsigned column = 0; column < S::rows; column += 16) {
      const unsigned at = place<S>(row, column);
      const u32* const left = &a.words[0][row];
      if (multiply_pairs<S>(left, b, column, accumulator.first + at, d + at)) continue;
      if (!several<S>) return false;
      multiply_one_by_one<S>(left, b, column, accumulator.first + at, d + at);
    }
  }
  count_flops(w, matrix_type<FA>(), u64{S::rows} * S::rows * S::depth);
  return true;
}

using Fnuz4 = Float8<Fp8::e4m3_fnuz>;
using Fnuz5 = Float8<Fp8::e5m2_fnuz>;
using Ocp4 = Float8<Fp8::e4m3_ocp>;
using Ocp5 = Float8<Fp8::e5m2_ocp>;

#define PAIRS(name, only, m, k, a, b)                            \
  {name,                                                         \
   [](Wave& w, const Inst& i) {                                  \
     static const Handler otherwise = below(name, only);         \
     if (!by_pairs<Shape<m, k, 1>, a, b>(w, i)) otherwise(w, i); \
   },                                                            \
   only}
#define BRAIN(m, k) PAIRS("v_mfma_f32_" #m "x" #m "x" #k "_bf16", Only::both, m, k, Bf16, Bf16)
#define EIGHT(type, m, k, a, b)                                                         \
  PAIRS("v_mfma_f32_" #m "x" #m "x" #k "_" type, Only::gfx942, m, k, Fnuz##a, Fnuz##b), \
      PAIRS("v_mfma_f32_" #m "x" #m "x" #k "_" type, Only::gfx950, m, k, Ocp##a, Ocp##b)

const Entry entries[] = {
    BRAIN(32, 8),
    BRAIN(16, 16),
    BRAIN(16, 32),
    BRAIN(32, 16),
    EIGHT("fp8_fp8", 16, 32, 4, 4),
    EIGHT("fp8_bf8", 16, 32, 4, 5),
    EIGHT("bf8_fp8", 16, 32, 5, 4),
    EIGHT("bf8_bf8", 16, 32, 5, 5),
    EIGHT("fp8_fp8", 32, 16, 4, 4),
    EIGHT("fp8_bf8", 32, 16, 4, 5),
    EIGHT("bf8_fp8", 32, 16, 5, 4),
    EIGHT("bf8_bf8", 32, 16, 5, 5),
};

}  // namespace

Entries MLA_GFX_PATH::matrix_pairs_entries() {
  return entries;
}

// Of many sums, none of them denormal or infinite: a sign, an exponent of 112 to 143 and seven more
// bits for each number.
bool MLA_GFX_PATH::pairs_round_one_by_one() {
  u32 state = 1;
  const auto half = [&state] {
    state = state * 1664525U + 1013904223U;
    return (state >> 16 & 0x8fff) + 0x3800;
  };
  for (unsigned round = 0; round < 4096; ++round) {
    const u32 a = half() << 16 | half(), b = half() << 16 | half(), c = half() << 16 | half();
    float expected = float_of(c);
    for (const unsigned k : {1U, 0U})
      expected = __builtin_fmaf(Bf16::get(a, k), Bf16::get(b, k), expected);
    const auto all = [](u32 words) { return _mm512_set1_epi32(static_cast<i32>(words)); };
    const __m512 found =
        _mm512_dpbf16_ps(_mm512_castsi512_ps(all(c)), reinterpret_cast<__m512bh>(all(a)),
                         reinterpret_cast<__m512bh>(all(b)));
    if (_mm512_cvtss_f32(found) != expected) return false;
  }
  return true;
}

}  // namespace mla::gfx
