// gfx950: conversions of one or two numbers with a scale, v_cvt_scalef32_*; scaled_wide.cpp has
// those of 32, and the stochastic ones of two.
#include <algorithm>

#include "alu.hpp"
#include "families.hpp"
#include "scaled.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned first = vgpr + 10, second = vgpr + 14, third = vgpr + 18;
constexpr unsigned destination = vgpr + 22;
constexpr u64 masks[] = {~u64{0}, 0x8001f00f5555aaa8};

u32 fp8_of(double value) {
  return byte_of(value, fp8_ocp, false);
}
u32 bf8_of(double value) {
  return byte_of(value, bf8_ocp, false);
}
// The nearest of the sixteen; where two are as near, the one whose last bit is 0.
u32 fp4_of(double value) {
  if (std::isnan(value)) return 7;
  u32 best = 0;
  for (u32 code = 1; code < 8; ++code) {
    const double now = std::abs(std::abs(value) - small_value(code, 2, 1));
    const double so_far = std::abs(std::abs(value) - small_value(best, 2, 1));
    if (now < so_far || (now == so_far && code % 2 == 0)) best = code;
  }
  if (std::abs(value) > 6) best = 7;  // so far away the differences are all the same
  return best + (std::signbit(value) ? 8 : 0);
}
double fp8_value(u32 bits) {
  return byte_value(bits & 0xff, fp8_ocp);
}
double bf8_value(u32 bits) {
  return byte_value(bits & 0xff, bf8_ocp);
}
double fp4_value(u32 bits) {
  return small_value(bits & 15, 2, 1);
}
struct Narrow {
  const char* name;
  unsigned bits;
  u32 (*nearest)(double);
  double (*value)(u32);
};
constexpr Narrow narrows[] = {
    {"fp8", 8, fp8_of, fp8_value}, {"bf8", 8, bf8_of, bf8_value}, {"fp4", 4, fp4_of, fp4_value}};

// Scales of every size, and numbers that are in the range of the narrow formats after them.
Vector start(const Op& op, const std::string& note, const Wide& wide, unsigned scale_register) {
  Vector v = random_registers(op, note,
                              {{first, "a"},
                               {second, "b"},
                               {third, "c"},
                               {destination, "old"},
                               {destination + 1, "old too"}});
  const bool narrow_range = wide.bits == 16 && wide.name[0] == 'f';
  for (unsigned l = 0; l < lanes; ++l) {
    u32& scale = v.before.v[scale_register][l];
    const int power =
        narrow_range ? static_cast<int>(l) % 9 - 4 : static_cast<int>(l * 7 % 200) - 100;
    if (l % 16 != 15) scale = (scale & 0x807fffff) | static_cast<u32>(power + 127) << 23;
    if (l % 16 == 14) scale |= 0x7f800000;
    for (const unsigned reg : {first, second}) {
      if (reg == scale_register || l % 8 == 7) continue;
      const auto number = [&](u32 seed) {
        const double size =
            std::ldexp(1 + seed % 64 / 64.0, power + static_cast<int>(seed / 64 % 12) - 8);
        return wide.nearest(seed / 1024 % 2 == 0 ? size : -size);
      };
      const u32 seed = v.before.v[reg][l];
      v.before.v[reg][l] = wide.bits == 32 ? number(seed) : number(seed) | number(seed >> 13) << 16;
    }
  }
  return v;
}

// `bits` bits at `shift` become value(l) in the lanes of EXEC.
template <class F>
Expected inserted(const Vector& v, unsigned shift, unsigned bits, F value) {
  Expected out{.index = destination, .values = {}};
  const u64 mask = ((u64{1} << bits) - 1) << shift;
  for (unsigned l = 0; l < lanes; ++l) {
    const u64 old = v.before.v.at(destination)[l];
    const bool active = (v.before.exec >> l & 1) != 0;
    out.values[l] = active ? (old & ~mask) | (u64{value(l)} << shift & mask) : old;
  }
  return out;
}

void add_encoding(Vectors& out, Arch arch, const Narrow& narrow, const Wide& wide) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_pk_") + narrow.name + "_" + wide.name);
  if (op.name.empty()) return;
  const bool pair = wide.bits == 16;
  const unsigned scale = pair ? second : third;
  for (unsigned place = 0; place < 32 / (2 * narrow.bits); ++place) {
    Vector v = start(op, "place " + std::to_string(place), wide, scale);
    v.before.exec = masks[place % 2];
    const unsigned op_sel = narrow.bits == 4 ? place << 2 : place << 3;
    v.words = encode::vop3(
        op.number,
        {.dst = destination, .src = {first, second, pair ? 0 : third}, .op_sel = op_sel});
    v.after = {inserted(v, 2 * narrow.bits * place, 2 * narrow.bits, [&](unsigned l) {
      const double by = scale_value(v.before.v.at(scale)[l]);
      const u32 a = v.before.v.at(first)[l];
      const double low = wide.value(pair ? a % 65536 : a) / by;
      const double high = wide.value(pair ? a / 65536 : v.before.v.at(second)[l]) / by;
      return narrow.nearest(low) + (narrow.nearest(high) << narrow.bits);
    })};
    out.push_back(std::move(v));
  }
}

// Denormals of f32 count, or MODE flushes them, before the smallest scales make them large.
void add_denormals(Vectors& out, Arch arch, const Narrow& narrow) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_pk_") + narrow.name + "_f32");
  if (op.name.empty()) return;
  for (const bool flushes : {false, true}) {
    Vector v = start(op, flushes ? "denormals flushed" : "denormals", wides[0], third);
    if (flushes) v.before.mode = 0x1e0;
    for (unsigned l = 0; l < lanes; ++l) {
      v.before.v[first][l] = v.before.v[first][l] % 0x00800000 | (l % 2) << 31;
      v.before.v[second][l] = 0x00800000 + l;
      v.before.v[third][l] = (l % 3) << 23;
    }
    v.words = encode::vop3(op.number, {.dst = destination, .src = {first, second, third}});
    v.after = {inserted(v, 0, 2 * narrow.bits, [&](unsigned l) {
      const double by = scale_value(v.before.v.at(third)[l]);
      const double denormal = f32_value(v.before.v.at(first)[l]);
      const double low = flushes ? std::copysign(0.0, denormal) : denormal / by;
      const double high = f32_value(v.before.v.at(second)[l]) / by;
      return narrow.nearest(low) + (narrow.nearest(high) << narrow.bits);
    })};
    out.push_back(std::move(v));
  }
}

void add_decoding(Vectors& out, Arch arch, const Narrow& narrow, const Wide& wide) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_pk_") + wide.name + "_" + narrow.name);
  if (op.name.empty()) return;
  for (unsigned place = 0; place < 32 / (2 * narrow.bits); ++place) {
    Vector v = start(op, "place " + std::to_string(place), wides[0], second);
    v.before.exec = masks[place % 2];
    for (unsigned l = 0; l < lanes; ++l) v.before.v[first][l] = v.before.v[third][l];  // any bits
    v.words =
        encode::vop3(op.number, {.dst = destination, .src = {first, second, 0}, .op_sel = place});
    const auto part = [&](unsigned l, unsigned index) {
      const u32 bits = v.before.v.at(first)[l] >> (2 * narrow.bits * place + narrow.bits * index);
      return wide.nearest(narrow.value(bits) * scale_value(v.before.v.at(second)[l]));
    };
    Expected low = inserted(v, 0, 32, [&](unsigned l) {
      return wide.bits == 32 ? part(l, 0) : part(l, 0) + (part(l, 1) << 16);
    });
    low.compare = wide.bits == 32          ? Compare::f32
                  : wide.nearest == f16_of ? Compare::two_f16
                                           : Compare::two_bf16;
    v.after = {low};
    if (wide.bits == 32) {
      Expected high = inserted(v, 0, 32, [&](unsigned l) { return part(l, 1); });
      high.index = destination + 1;
      high.compare = Compare::f32;
      for (unsigned l = 0; l < lanes; ++l) {
        if ((v.before.exec >> l & 1) == 0) high.values[l] = v.before.v.at(destination + 1)[l];
      }
      v.after.push_back(high);
    }
    out.push_back(std::move(v));
  }
}

void add_single(Vectors& out, Arch arch, const Narrow& narrow, const Wide& wide) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_") + wide.name + "_" + narrow.name);
  if (op.name.empty()) return;
  for (unsigned place = 0; place < 8; ++place) {
    const bool high = wide.bits == 16 && place >= 4;
    Vector v = start(op, "place " + std::to_string(place), wides[0], second);
    v.before.exec = masks[place % 2];
    for (unsigned l = 0; l < lanes; ++l) v.before.v[first][l] = v.before.v[third][l];
    v.words = encode::vop3(
        op.number,
        {.dst = destination, .src = {first, second, 0}, .op_sel = place % 4 + (high ? 8U : 0U)});
    Expected e = inserted(v, high ? 16 : 0, wide.bits, [&](unsigned l) {
      const u32 byte = v.before.v.at(first)[l] >> 8 * (place % 4);
      return wide.nearest(narrow.value(byte) * scale_value(v.before.v.at(second)[l]));
    });
    e.compare = wide.bits == 32 ? Compare::f32 : Compare::two_f16;
    v.after = {e};
    out.push_back(std::move(v));
  }
}

// Random bits of all zeros cut off, of all ones round up what is left: the two ends of
// STOCHASTIC_ROUNDING; what lies between is that of v_cvt_sr_fp8_f32.
void add_stochastic(Vectors& out, Arch arch, const Narrow& narrow, const Wide& wide) {
  const Op op = find_op(arch, std::string("v_cvt_scalef32_sr_") + narrow.name + "_" + wide.name);
  if (op.name.empty()) return;
  for (unsigned place = 0; place < 4; ++place) {
    Vector v = start(op, "byte " + std::to_string(place), wide, third);
    v.before.exec = masks[place % 2];
    const int fraction = narrow.value == fp8_value ? 3 : 2;
    std::array<double, lanes> kept{};
    for (unsigned l = 0; l < lanes; ++l) {
      // A normal number of the format, and a part below its last bit.
      const bool up = l % 2 == 0;
      const double unit = std::ldexp(1.0, static_cast<int>(l) % 6 - 3 - fraction);
      const double whole = (1 << fraction) + static_cast<int>(l) % (1 << fraction);
      const double rest = l % 5 == 0 ? 0 : 0.125 * (l % 8);
      const double by = std::ldexp(1.0, static_cast<int>(l) % 5 - 2);
      v.before.v[third][l] = bits_of(static_cast<float>(by));
      v.before.v[second][l] = up ? ~u32{0} : 0;
      v.before.v[first][l] = wide.nearest((whole + rest) * unit * by);
      kept[l] = (whole + (up && rest > 0 ? 1 : 0)) * unit;
    }
    v.words = encode::vop3(
        op.number, {.dst = destination, .src = {first, second, third}, .op_sel = place << 2});
    v.after = {inserted(v, 8 * place, 8, [&](unsigned l) { return narrow.nearest(kept[l]); })};
    out.push_back(std::move(v));
  }
}

}  // namespace

Vectors scaled_vectors(Arch arch) {
  Vectors out;
  for (const Narrow& narrow : narrows) {
    add_denormals(out, arch, narrow);
    for (const Wide& wide : wides) {
      add_encoding(out, arch, narrow, wide);
      add_decoding(out, arch, narrow, wide);
      if (narrow.bits == 4) continue;
      add_stochastic(out, arch, narrow, wide);
      add_single(out, arch, narrow, wide);
    }
  }
  return out;
}

}  // namespace gfx_test
