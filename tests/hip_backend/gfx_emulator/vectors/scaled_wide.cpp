// gfx950: conversions of 32 numbers to and from 6-bit floats with a scale (v_cvt_scalef32_pk32_*,
// _sr_pk32_*, _2xpk16_*), and stochastic ones of two numbers to 4-bit floats (_sr_pk_fp4_*).
//
// A code is found by a search over the values of all codes, a packed result is a count of bits.
#include <algorithm>

#include "alu.hpp"
#include "families.hpp"
#include "scaled.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned numbers = 32;
constexpr unsigned first = vgpr + 32, second = vgpr + 64, seeds = vgpr + 80, scales = vgpr + 82;
constexpr unsigned destination = vgpr + 96, scalar_seed = 40, constant_two = 244;
constexpr u32 flushing_f32_sources = 0x1e0;
constexpr u64 half_of_the_lanes = 0x8001f00f5555aaa8;

struct Small {
  const char* name;
  unsigned bits;
  int exponent_bits, fraction_bits;

  [[nodiscard]] u32 largest() const { return (1U << (bits - 1)) - 1; }
  [[nodiscard]] double value(u32 code) const {
    return small_value(code, exponent_bits, fraction_bits);
  }
  [[nodiscard]] u32 sign(double number) const { return std::signbit(number) ? largest() + 1 : 0; }
};
constexpr Small fp4 = {"fp4", 4, 2, 1}, six_bits[] = {{"fp6", 6, 2, 3}, {"bf6", 6, 3, 2}};

// Ties go to the code whose last bit is 0; what is too large is the largest, and so is a NaN.
u32 nearest(double number, const Small& s) {
  if (std::isnan(number)) return s.largest();
  const double magnitude = std::abs(number);
  if (magnitude > s.value(s.largest())) return s.largest() | s.sign(number);
  u32 best = 0;
  for (u32 code = 1; code <= s.largest(); ++code) {
    const double apart = std::abs(s.value(code) - magnitude);
    const double before = std::abs(s.value(best) - magnitude);
    if (apart < before || (apart == before && code % 2 == 0)) best = code;
  }
  return best | s.sign(number);
}

// Assumption STOCHASTIC_ROUNDING: random / 2^32 of a unit is added, then all below it is cut off.
u32 stochastic(double number, u32 random, const Small& s) {
  if (std::isnan(number)) return s.largest();
  const double magnitude = std::abs(number);
  if (magnitude > s.value(s.largest())) return s.largest() | s.sign(number);
  if (magnitude == 0) return s.sign(number);
  const int lowest = 2 - (1 << (s.exponent_bits - 1));
  const double unit = std::ldexp(1.0, std::max(std::ilogb(magnitude), lowest) - s.fraction_bits);
  const double kept = std::floor(magnitude / unit + std::ldexp(random, -32)) * unit;
  return nearest(std::copysign(kept, number), s);
}

// Assumption STOCHASTIC_PASSES: v_prng_b32 after each number.
u32 stepped(u32 random) {
  return (random * 2) ^ (random >= 0x80000000 ? 197 : 0);
}

// Scales at both ends of their range, NaN, and some between.
u32 scale_bits(unsigned lane, u32 random) {
  static constexpr u32 exponents[] = {127, 0, 1, 254, 255, 126, 129, 64, 190, 120, 133};
  return (random & 0x807fffff) | exponents[lane % std::size(exponents)] << 23;
}

// An edge of the wide format, or a number near the codes after the scale: a code itself, the middle
// of two, a little beside it, anything of their size, something far below.
u32 number_bits(u64 random, const Wide& wide, const Small& s, u32 scale) {
  const auto pick = [&](u64 count) {
    const u64 part = random % count;
    random /= count;
    return part;
  };
  const bool negative = pick(2) != 0;
  const u64 kind = pick(8);
  if (kind == 0) {
    const bool half = wide.value == f16_value;
    const auto& all = edges(half ? Type::f16 : Type::f32);
    const auto bits = static_cast<u32>(all[pick(all.size())]);
    return half || wide.bits == 32 ? bits : bits >> 16;
  }
  const auto code = static_cast<u32>(pick(s.largest()));
  const double low = s.value(code), high = s.value(code + 1), middle = (low + high) / 2;
  const double beside = std::ldexp(high - low, -4 - static_cast<int>(pick(4)));
  double number = kind == 1   ? (pick(2) == 0 ? low : high)
                  : kind == 2 ? middle
                  : kind == 3 ? middle + beside
                  : kind == 4 ? middle - beside
                  : kind == 5 ? s.value(s.largest()) * (1 + static_cast<double>(pick(64)) / 256)
                  : kind == 6 ? std::ldexp(s.value(1), -static_cast<int>(pick(40)))
                              : low + (high - low) * static_cast<double>(pick(1 << 20)) * 0x1p-20;
  const double by = scale_value(scale);
  if (!std::isnan(by)) number *= by;
  return wide.nearest(negative ? -number : number);
}

// How one vector of an operation is made.
struct Form {
  std::string note;
  u64 exec = ~u64{0};
  u32 mode = State{}.mode;
  bool constants = false;  // the scale is 2.0, the seed a scalar
};
const std::vector<Form> forms = {{.note = "all lanes"},
                                 {.note = "part of EXEC", .exec = half_of_the_lanes},
                                 {.note = "f32 denormals flushed", .mode = flushing_f32_sources},
                                 {.note = "constant scale", .constants = true}};

void put_random(Vector& v, unsigned reg, unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    put_row(v.before, reg + k, random_row(v.operation + v.note + std::to_string(reg + k)), 4);
  }
}

Vector start(const Op& op, const Form& form) {
  Vector v{.operation = op.name, .note = form.note};
  v.before.exec = form.exec;
  v.before.mode = form.mode;
  put_random(v, seeds, 1);
  put_random(v, scales, 1);
  put_random(v, destination, std::max<unsigned>(op.width[0], 1));
  for (unsigned l = 0; l < lanes; ++l) {
    u32& scale = v.before.v[scales][l];
    scale = form.constants ? bits_of(2.0F) : scale_bits(l, scale);
    u32& seed = v.before.v[seeds][l];
    if (l % 8 == 1) seed = 0;
    if (l % 8 == 2) seed = ~u32{0};
    if (form.constants) seed = v.before.v[seeds][0] | 0x80000001;
  }
  if (form.constants) v.before.s[scalar_seed] = v.before.v[seeds][0];
  return v;
}
unsigned scale_operand(const Form& form) {
  return form.constants ? constant_two : scales;
}
unsigned seed_operand(const Form& form) {
  return form.constants ? scalar_seed : seeds;
}

// The place of number `k`: one in each register, or two.
struct Place {
  unsigned reg, shift;
};
Place place_of(const Wide& wide, unsigned reg, unsigned k) {
  return wide.bits == 32 ? Place{reg + k, 0} : Place{reg + k / 2, k % 2 * 16};
}

void put_numbers(Vector& v, unsigned reg, unsigned count, const Wide& wide, const Small& s) {
  put_random(v, reg, count * wide.bits / 32);
  for (unsigned k = 0; k < count; ++k) {
    const Place place = place_of(wide, reg, k);
    const WideRow random = random_row(v.operation + v.note + "number" + std::to_string(reg + k));
    const u32 field = wide.bits == 32 ? ~u32{0} : u32{0xffff} << place.shift;
    for (unsigned l = 0; l < lanes; ++l) {
      u32& word = v.before.v[place.reg][l];
      const u32 bits = number_bits(random[l], wide, s, v.before.v[scales][l]);
      word = (word & ~field) | (bits << place.shift & field);
    }
  }
}

// What the operation sees of a number: by the scale, and with MODE's denormals.
double scaled_number(const Vector& v, const Wide& wide, Place place, unsigned l) {
  const u32 word = v.before.v.at(place.reg)[l] >> place.shift;
  double number = wide.value(wide.bits == 32 ? word : word & 0xffff);
  const bool flushes = wide.bits == 32 && v.before.mode == flushing_f32_sources;
  if (flushes && std::abs(number) < 0x1p-126) number = std::copysign(0.0, number);
  return number / scale_value(v.before.v.at(scales)[l]);
}

// Register `k` of the result where EXEC is on.
template <class F>
Expected result(const Vector& v, unsigned k, F word) {
  Expected out{.index = destination + k, .values = {}};
  for (unsigned l = 0; l < lanes; ++l) {
    const bool active = (v.before.exec >> l & 1) != 0;
    out.values[l] = active ? word(l) : v.before.v.at(destination + k)[l];
  }
  return out;
}

// 32 codes, bit by bit: SIX_BIT_ORDER.
void expect_codes(Vector& v, const std::array<std::array<u32, numbers>, lanes>& codes) {
  for (unsigned k = 0; k < 6; ++k) {
    v.after.push_back(result(v, k, [&](unsigned l) {
      u32 word = 0;
      for (unsigned bit = 0; bit < 32; ++bit) {
        const unsigned at = 32 * k + bit;
        word |= (codes[l][at / 6] >> at % 6 & 1) << bit;
      }
      return word;
    }));
  }
}

void add_encoding(Vectors& out, Arch arch, const Small& s, const Wide& wide, bool random) {
  const bool two = wide.bits == 32 && !random;  // of sixteen numbers each
  const std::string stem = two ? "2xpk16_" : random ? "sr_pk32_" : "pk32_";
  const Op op = find_op(arch, "v_cvt_scalef32_" + stem + s.name + "_" + wide.name);
  if (op.name.empty()) return;
  for (const Form& form : forms) {
    Vector v = start(op, form);
    put_numbers(v, first, two ? numbers / 2 : numbers, wide, s);
    if (two) put_numbers(v, second, numbers / 2, wide, s);
    const unsigned last = scale_operand(form);
    v.words = encode::vop3(op.number, {.dst = destination,
                                       .src = {first,
                                               two      ? second
                                               : random ? seed_operand(form)
                                                        : last,
                                               two || random ? last : 0}});
    std::array<std::array<u32, numbers>, lanes> codes{};
    for (unsigned l = 0; l < lanes; ++l) {
      u32 seed = v.before.v.at(seeds)[l];
      for (unsigned k = 0; k < numbers; ++k) {
        const Place place =
            two ? place_of(wide, k % 2 == 0 ? first : second, k / 2) : place_of(wide, first, k);
        const double number = scaled_number(v, wide, place, l);
        codes[l][k] = random ? stochastic(number, seed, s) : nearest(number, s);
        seed = stepped(seed);
      }
    }
    expect_codes(v, codes);
    out.push_back(std::move(v));
  }
}

void add_decoding(Vectors& out, Arch arch, const Small& s, const Wide& wide) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_pk32_") + wide.name + "_" + s.name);
  if (op.name.empty()) return;
  for (const Form& form : forms) {
    Vector v = start(op, form);
    put_random(v, first, 6);
    v.words = encode::vop3(op.number, {.dst = destination, .src = {first, scale_operand(form), 0}});
    const auto number = [&](unsigned l, unsigned k) {
      u32 code = 0;
      for (unsigned bit = 0; bit < 6; ++bit) {
        const unsigned at = 6 * k + bit;
        code |= (v.before.v.at(first + at / 32)[l] >> at % 32 & 1) << bit;
      }
      return wide.nearest(s.value(code) * scale_value(v.before.v.at(scales)[l]));
    };
    const unsigned each = 32 / wide.bits;
    for (unsigned k = 0; k < numbers / each; ++k) {
      Expected e = result(v, k, [&](unsigned l) {
        return each == 1 ? number(l, k) : number(l, 2 * k) | number(l, 2 * k + 1) << 16;
      });
      e.compare = each == 1                ? Compare::f32
                  : wide.nearest == f16_of ? Compare::two_f16
                                           : Compare::two_bf16;
      v.after.push_back(e);
    }
    out.push_back(std::move(v));
  }
}

// Two numbers go to the byte that op_sel names.
void add_pairs(Vectors& out, Arch arch, const Wide& wide) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_sr_pk_fp4_") + wide.name);
  if (op.name.empty()) return;
  for (unsigned byte = 0; byte < 4; ++byte) {
    for (Form form : forms) {
      form.note += ", byte " + std::to_string(byte);
      Vector v = start(op, form);
      put_numbers(v, first, 2, wide, fp4);
      v.words = encode::vop3(op.number, {.dst = destination,
                                         .src = {first, seed_operand(form), scale_operand(form)},
                                         .op_sel = byte << 2});
      v.after = {result(v, 0, [&](unsigned l) {
        const u32 seed = v.before.v.at(seeds)[l], old = v.before.v.at(destination)[l];
        const u32 low = stochastic(scaled_number(v, wide, place_of(wide, first, 0), l), seed, fp4);
        const u32 high =
            stochastic(scaled_number(v, wide, place_of(wide, first, 1), l), stepped(seed), fp4);
        return (old & ~(0xffU << 8 * byte)) | (low + 16 * high) << 8 * byte;
      })};
      out.push_back(std::move(v));
    }
  }
}

}  // namespace

Vectors scaled_wide_vectors(Arch arch) {
  Vectors out;
  for (const Wide& wide : wides) {
    for (const Small& small : six_bits) {
      add_encoding(out, arch, small, wide, false);
      add_encoding(out, arch, small, wide, true);
      add_decoding(out, arch, small, wide);
    }
    add_pairs(out, arch, wide);
  }
  return out;
}

}  // namespace gfx_test
