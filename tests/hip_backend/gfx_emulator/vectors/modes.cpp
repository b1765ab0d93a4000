// f32 arithmetic under the rounding and denormal bits of MODE.
#include "../device.hpp"
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr std::array<unsigned, 3> sources = {vgpr + 10, vgpr + 14, vgpr + 18};
constexpr unsigned destination = vgpr + 22;
enum Rounding : u32 { nearest, up, down, to_zero };

// The f32 that a rounding makes of an exact value.
float rounded_by(double exact, u32 rounding) {
  const auto near = static_cast<float>(exact);
  const auto value = static_cast<double>(near);
  const float above = value < exact ? std::nextafter(near, HUGE_VALF) : near;
  const float below = value > exact ? std::nextafter(near, -HUGE_VALF) : near;
  if (rounding == up) return above;
  if (rounding == down) return below;
  return rounding == nearest ? near : exact > 0 ? below : above;
}

struct Operation {
  const char* name;
  unsigned count;
  double (*run)(double, double, double);  // exact for the operands below
};
const Operation operations[] = {
    {"v_add_f32", 2, [](double a, double b, double) { return a + b; }},
    {"v_sub_f32", 2, [](double a, double b, double) { return a - b; }},
    {"v_mul_f32", 2, [](double a, double b, double) { return a * b; }},
    {"v_fma_f32", 3, [](double a, double b, double c) { return a * b + c; }},
};

Vector make(const Op& op, const std::string& note, u32 mode,
            const std::array<std::array<float, lanes>, 3>& in) {
  Vector v{.operation = op.name, .note = note};
  for (unsigned k = 0; k < 3; ++k) {
    for (unsigned l = 0; l < lanes; ++l) v.before.v[sources[k]][l] = bits_of(in[k][l]);
  }
  v.before.mode = mode;
  const bool three = op.width[3] != 0;
  v.words = three ? encode::vop3(op.number, {.dst = destination, .src = sources})
                  : encode::vop2(op.number, destination, sources[0], sources[1]);
  return v;
}

// 12 bits for the factors of a sum, so that double has room for all of it.
std::array<std::array<float, lanes>, 3> ordinary(const std::string& name, unsigned count) {
  Random random(name.size() + count);
  std::array<std::array<float, lanes>, 3> in{};
  for (unsigned k = 0; k < 3; ++k) {
    for (float& value : in[k]) {
      const double any = random.uniform(-8, 8);
      value = count == 3 && k < 2 ? static_cast<float>(std::round(any * 512) / 512)
                                  : static_cast<float>(any);
    }
  }
  return in;
}

void add_roundings(Vectors& out, Arch arch, const Operation& operation) {
  const Op op = find_op(arch, operation.name);
  const auto in = ordinary(op.name, operation.count);
  for (u32 rounding = nearest; rounding <= to_zero; ++rounding) {
    Vector v = make(op, "rounding " + std::to_string(rounding), 0x1f0 | rounding, in);
    Expected e{.index = destination, .values = {}, .compare = Compare::f32};
    for (unsigned l = 0; l < lanes; ++l) {
      const double exact =
          operation.run(static_cast<double>(in[0][l]), static_cast<double>(in[1][l]),
                        static_cast<double>(in[2][l]));
      e.values[l] = bits_of(rounded_by(exact, rounding));
    }
    v.after = {e};
    out.push_back(std::move(v));
  }
}

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

// Bit 4 of MODE keeps denormal sources, bit 5 denormal results; without both they are zeros.
void add_flushing(Vectors& out, Arch arch, const Operation& operation) {
  const Op op = find_op(arch, operation.name);
  std::array<std::array<float, lanes>, 3> in{};
  const float values[] = {0x1p-140F, -0x1p-130F, 0x1.8p-126F, -0x1p-125F,
                          0x1p-70F,  3,          0,           -0x1.4p-127F};
  for (unsigned l = 0; l < lanes; ++l) {
    in[0][l] = values[l % 8];
    in[1][l] = values[l / 8];
    in[2][l] = values[(l + l / 8) % 8];
  }
  for (const bool keeps : {false, true}) {
    Vector v = make(op, keeps ? "denormals" : "no denormals", keeps ? 0x1f0 : 0x1c0, in);
    Expected e{.index = destination, .values = {}, .compare = Compare::f32};
    for (unsigned l = 0; l < lanes; ++l) {
      float x[3] = {in[0][l], in[1][l], in[2][l]};
      for (float& value : x) value = keeps ? value : flushed(value);
      const auto value = static_cast<float>(operation.run(
          static_cast<double>(x[0]), static_cast<double>(x[1]), static_cast<double>(x[2])));
      e.values[l] = bits_of(keeps ? value : flushed(value));
    }
    v.after = {e};
    out.push_back(std::move(v));
  }
}

}  // namespace

Vectors mode_vectors(Arch arch) {
  Vectors out;
  for (const Operation& operation : operations) {
    add_roundings(out, arch, operation);
    add_flushing(out, arch, operation);
  }
  return out;
}

}  // namespace gfx_test
