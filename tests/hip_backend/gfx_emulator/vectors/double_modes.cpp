// f64 arithmetic follows bits 2 and 3 of MODE, and v_rndne_f32 follows none.
#include <cmath>

#include "../device.hpp"
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr std::array<unsigned, 3> sources = {vgpr + 10, vgpr + 14, vgpr + 18};
constexpr unsigned destination = vgpr + 22;
enum Rounding : u32 { nearest, up, down, to_zero };

// A result to nearest, and how much the exact one is more.
struct Parts {
  double near, rest;
};
Parts sum_of(double a, double b) {
  const double near = a + b, part = near - a;
  return {near, (a - (near - part)) + (b - part)};
}
Parts product_of(double a, double b) {
  const double near = a * b;
  return {near, std::fma(a, b, -near)};
}
double rounded_by(const Parts& parts, u32 rounding) {
  const auto [near, rest] = parts;
  const double above = rest > 0 ? std::nextafter(near, HUGE_VAL) : near;
  const double below = rest < 0 ? std::nextafter(near, -HUGE_VAL) : near;
  if (rounding == up) return above;
  if (rounding == down) return near == 0 && rest == 0 ? -0.0 : below;
  return rounding == nearest ? near : near > 0 ? below : above;
}

struct Operation {
  const char* name;
  Parts (*run)(double, double, double);
};
const Operation operations[] = {
    {"v_add_f64", [](double a, double b, double) { return sum_of(a, b); }},
    {"v_mul_f64", [](double a, double b, double) { return product_of(a, b); }},
    {"v_fma_f64", [](double a, double b, double c) { return sum_of(a * b, c); }},
};

// Factors of a fused sum have 26 bits, so that their product is exact. A few sums are zero.
double operand(const Operation& operation, unsigned source, unsigned lane) {
  Random random(source * lanes + lane + 1);
  const double any = random.uniform(1, 8) * (lane % 3 == 0 ? -1 : 1);
  const bool fused = std::string(operation.name) == "v_fma_f64";
  if (fused && source < 2) return static_cast<double>(static_cast<float>(any));
  const bool last = source == (fused ? 2U : 1U);
  if (last && lane % 16 == 5 && std::string(operation.name) != "v_mul_f64") {
    const double first = operand(operation, 0, lane);
    return fused ? -(first * operand(operation, 1, lane)) : -first;
  }
  return any;
}

Vector vector_of(const Operation& operation, const Op& op, u32 of_double, u32 of_single) {
  Vector v{
      .operation = op.name,
      .note = "f64 rounding " + std::to_string(of_double) + ", f32 " + std::to_string(of_single)};
  auto src = sources;
  if (op.width[3] == 0) src[2] = 0;
  v.words = encode::vop3(op.number, {.dst = destination, .src = src});
  v.before.mode = 0x1f0 | of_double << 2 | of_single;
  Expected e{.index = destination, .words = 2, .values = {}, .compare = Compare::bits};
  for (unsigned l = 0; l < lanes; ++l) {
    std::array<double, 3> in{};
    for (unsigned k = 0; k < 3; ++k) {
      in[k] = operand(operation, k, l);
      v.before.v[sources[k]][l] = static_cast<u32>(bits_of(in[k]));
      v.before.v[sources[k] + 1][l] = static_cast<u32>(bits_of(in[k]) >> 32);
    }
    e.values[l] = bits_of(rounded_by(operation.run(in[0], in[1], in[2]), of_double));
  }
  v.after = {e};
  return v;
}

Vector whole(Arch arch, u32 of_single) {
  const Op op = find_op(arch, "v_rndne_f32");
  Vector v{.operation = op.name, .note = "f32 rounding " + std::to_string(of_single)};
  v.words = encode::vop1(op.number, destination, sources[0]);
  v.before.mode = 0x1f0 | of_single;
  Expected e{.index = destination, .values = {}, .compare = Compare::bits};
  for (unsigned l = 0; l < lanes; ++l) {
    const float in = static_cast<float>(l) * 0.25F - 8;
    v.before.v[sources[0]][l] = bits_of(in);
    const float below = std::floor(in), part = in - below;
    const bool raise = part > 0.5F || (part == 0.5F && std::fmod(below, 2.0F) != 0);
    e.values[l] = bits_of(std::copysign(raise ? below + 1 : below, in));
  }
  v.after = {e};
  return v;
}

}  // namespace

Vectors double_mode_vectors(Arch arch) {
  Vectors out;
  for (const Operation& operation : operations) {
    const Op op = find_op(arch, operation.name);
    for (u32 of_double = nearest; of_double <= to_zero; ++of_double)
      for (u32 of_single = nearest; of_single <= to_zero; ++of_single)
        out.push_back(vector_of(operation, op, of_double, of_single));
  }
  for (u32 of_single = nearest; of_single <= to_zero; ++of_single)
    out.push_back(whole(arch, of_single));
  return out;
}

}  // namespace gfx_test
