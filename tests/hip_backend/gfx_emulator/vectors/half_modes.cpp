// f16 arithmetic follows bits 2 and 3 of MODE, for every value of f32's bits 0 and 1.
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned destination = vgpr + 22;
constexpr std::array<unsigned, 3> sources = {vgpr + 10, vgpr + 14, destination};
enum Rounding : u32 { nearest, up, down, to_zero };

// The codes from -infinity to infinity, by value; -0 stands before 0.
Half code_at(int place) {
  return Half{static_cast<u16>(place < 0 ? 0x8000 | (-1 - place) : place)};
}
// The f16 that a rounding makes of a sum that f64 holds. `zero_is_negative`: of an exact zero.
Half rounded_by(double exact, u32 rounding, bool zero_is_negative) {
  if (exact == 0) return Half{static_cast<u16>(zero_is_negative ? 0x8000 : 0)};
  int low = -1 - 0x7c00, high = 0x7c00;  // the largest code that is not above, and the next
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (value_of(code_at(middle)) <= exact ? low : high) = middle;
  }
  if (value_of(code_at(low)) == exact) return code_at(low);
  const bool take_upper = rounding == up || (rounding == to_zero && exact < 0);
  return rounding == nearest ? half_of(exact) : code_at(take_upper ? high : low);
}

struct Operation {
  const char* name;
  double (*run)(double, double, double);
  bool packed;
};
const Operation operations[] = {
    {"v_add_f16", [](double a, double b, double) { return a + b; }, false},
    {"v_sub_f16", [](double a, double b, double) { return a - b; }, false},
    {"v_mul_f16", [](double a, double b, double) { return a * b; }, false},
    {"v_fma_f16", [](double a, double b, double c) { return a * b + c; }, false},
    {"v_pk_add_f16", [](double a, double b, double) { return a + b; }, true},
    {"v_pk_fma_f16", [](double a, double b, double c) { return a * b + c; }, true},
    {"v_pk_fmac_f16", [](double a, double b, double c) { return a * b + c; }, true},
};

Half operand(unsigned source, unsigned lane) {
  // 1 + 2^-10, a number whose last bits a sum loses, and what makes zeros of both signs.
  static const u16 some[] = {0x3c01, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x8000, 0x4d37, 0xd201};
  if (source == 0) return Half{some[lane % 8]};
  if (source == 1) return Half{some[lane / 8]};
  const double product = value_of(Half{some[lane % 8]}) * value_of(Half{some[lane / 8]});
  const Half opposite = half_of(-product);
  return lane % 3 == 2 ? Half{0x2c03} : opposite;
}

// A sum of opposites is +0 but for rounding down, a product or sum of zeros has their sign.
bool zero_is_negative(const Operation& operation, unsigned lane, u32 rounding) {
  const double a = value_of(operand(0, lane)), b = value_of(operand(1, lane));
  const double c = value_of(operand(2, lane));
  const double plain = operation.run(a, b, c);
  const bool is_product = std::string(operation.name) == "v_mul_f16";
  const bool is_fused = std::string(operation.name).find("fma") != std::string::npos;
  const double left = is_fused ? a * b : a;
  const double right = is_fused ? c : std::string(operation.name) == "v_sub_f16" ? -b : b;
  if (is_product || (left == 0 && right == 0 && std::signbit(left) == std::signbit(right)))
    return std::signbit(plain);
  return rounding == down;
}

Words words_of(const Operation& operation, const Op& op) {
  if (std::string(operation.name) == "v_pk_fmac_f16" || (!operation.packed && op.width[3] == 0))
    return encode::vop2(op.number, destination, sources[0], sources[1]);
  if (!operation.packed) return encode::vop3(op.number, {.dst = destination, .src = sources});
  auto src = sources;
  if (op.width[3] == 0) src[2] = 0;
  return encode::vop3p(op.number, {.dst = destination, .src = src, .op_sel = 0, .op_sel_hi = 7});
}

Vector vector_of(const Operation& operation, const Op& op, u32 of_half, u32 of_single) {
  Vector v{.operation = op.name,
           .note = "f16 rounding " + std::to_string(of_half) + ", f32 " + std::to_string(of_single),
           .words = words_of(operation, op)};
  v.before.mode = 0x1f0 | of_half << 2 | of_single;
  Expected e{.index = destination, .values = {}, .compare = Compare::bits};
  for (unsigned l = 0; l < lanes; ++l) {
    const unsigned other = lanes - 1 - l;  // the upper half has what another lane has below
    for (unsigned k = 0; k < 3; ++k)
      v.before.v[sources[k]][l] = operand(k, l).bits | u32{operand(k, other).bits} << 16;
    const auto result = [&](unsigned lane) -> u32 {
      const double exact = operation.run(value_of(operand(0, lane)), value_of(operand(1, lane)),
                                         value_of(operand(2, lane)));
      return rounded_by(exact, of_half, zero_is_negative(operation, lane, of_half)).bits;
    };
    const bool keeps_high = std::string(operation.name) == "v_fma_f16";
    const u32 high = operation.packed ? result(other)
                     : keeps_high     ? v.before.v[destination][l] >> 16
                                      : 0;
    e.values[l] = result(l) | high << 16;
  }
  v.after = {e};
  return v;
}

}  // namespace

Vectors half_mode_vectors(Arch arch) {
  Vectors out;
  for (const Operation& operation : operations) {
    const Op op = find_op(arch, operation.name);
    for (u32 of_half = nearest; of_half <= to_zero; ++of_half)
      for (u32 of_single = nearest; of_single <= to_zero; ++of_single)
        out.push_back(vector_of(operation, op, of_half, of_single));
  }
  return out;
}

}  // namespace gfx_test
