// Cube maps, sums of differences of four windows of bytes, normalised numbers, and v_pk_fmac_f16.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

constexpr unsigned first = vgpr + 10, second = vgpr + 14, addends = vgpr + 18;
constexpr unsigned destination = vgpr + 22;
constexpr u64 some = 0x8001f00f5555aaaa;

// A face of the cube by its normal: which coordinate is across it, and where s and t run.
struct Face {
  int across;     // 0, 1, 2: x, y, z
  bool negative;  // that coordinate is below zero
  int s, t;       // coordinate + 1, with a sign
};
constexpr Face faces[6] = {{0, false, -3, -2}, {0, true, 3, -2},  {1, false, 1, 3},
                           {1, true, 1, -3},   {2, false, 1, -2}, {2, true, -1, -2}};

// The largest magnitude decides; of equal ones z, then y. A comparison with NaN is false.
unsigned face_of(float x, float y, float z) {
  const float at[3] = {x, y, z};
  int across = 0;
  if (std::abs(y) >= std::abs(x)) across = 1;
  if (std::abs(z) >= std::abs(x) && std::abs(z) >= std::abs(y)) across = 2;
  return static_cast<unsigned>(2 * across) + (at[across] < 0 ? 1U : 0U);
}
float along(int axis, float x, float y, float z) {
  const float at[3] = {x, y, z};
  const float value = at[std::abs(axis) - 1];
  return axis < 0 ? -value : value;
}

std::vector<Alu> cubes() {
  return {
      alu("v_cubeid_f32",
          [](float x, float y, float z) { return static_cast<float>(face_of(x, y, z)); }),
      alu("v_cubesc_f32",
          [](float x, float y, float z) { return along(faces[face_of(x, y, z)].s, x, y, z); }),
      alu("v_cubetc_f32",
          [](float x, float y, float z) { return along(faces[face_of(x, y, z)].t, x, y, z); }),
      alu("v_cubema_f32",
          [](float x, float y, float z) {
            const float value = along(faces[face_of(x, y, z)].across + 1, x, y, z);
            return value + value;
          }),
  };
}

// Bytes k to k + 3 of the first operand against the four of the second.
i64 difference(u64 a, u32 b, unsigned k, bool masked) {
  i64 sum = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const auto x = static_cast<i64>(a / (u64{1} << 8 * (k + byte)) % 256);
    const i64 y = b / (1U << 8 * byte) % 256;
    sum += masked && y == 0 ? 0 : std::abs(x - y);
  }
  return sum;
}

Alu quad(const char* name, bool masked) {
  const auto sums = [masked](bool clamp) {
    return [=](u64 a, u32 b, u64 c) {
      u64 out = 0;
      for (unsigned k = 0; k < 4; ++k) {
        const i64 exact = difference(a, b, k, masked) + static_cast<u16>(c >> 16 * k);
        const u64 part = clamp ? limited_whole<u16>(exact) : static_cast<u16>(exact);
        out |= part << 16 * k;
      }
      return out;
    };
  };
  return alu(name, sums(false), {.clamped = by_bits(sums(true))});
}

// Four registers of addends and of results.
void add_wide_quads(Vectors& out, Arch arch) {
  const Op op = find_op(arch, "v_mqsad_u32_u8");
  for (const bool clamp : {false, true}) {
    for (const unsigned scalar : {0U, 1U, 2U}) {  // none, the first source, the second
      Vector v{.operation = op.name, .note = clamp ? "clamp" : "registers"};
      const WideRow a = random_row("a"), b = random_row("b");
      put_row(v.before, first, a, 8);
      put_row(v.before, second, b, 4);
      for (unsigned l = 0; l < lanes; l += 3) v.before.v[second][l] &= 0xff00ff00;
      v.before.s[20] = 0x12ff0080;
      v.before.s[21] = 0xfe017f33;
      v.before.exec = scalar == 0 ? some : ~u64{0};
      for (unsigned k = 0; k < 4; ++k) {
        put_row(v.before, addends + k, random_row("addend" + std::to_string(k)), 4);
        put_row(v.before, destination + k, random_row("old" + std::to_string(k)), 4);
        for (unsigned l = k; l < lanes; l += 5) v.before.v[addends + k][l] = 0xffffffff - l;
      }
      v.words = encode::vop3(op.number,
                             {.dst = destination,
                              .src = {scalar == 1 ? 20 : first, scalar == 2 ? 20 : second, addends},
                              .clamp = clamp});
      for (unsigned k = 0; k < 4; ++k) {
        Expected e{.index = destination + k, .values = {}};
        for (unsigned l = 0; l < lanes; ++l) {
          const u64 bytes = scalar == 1 ? 0xfe017f3312ff0080 : a[l];
          const u32 other = scalar == 2 ? 0x12ff0080 : v.before.v[second][l];
          const i64 exact = difference(bytes, other, k, true) + v.before.v[addends + k][l];
          const u32 sum = clamp ? limited_whole<u32>(exact) : static_cast<u32>(exact);
          const bool written = (v.before.exec >> l & 1) != 0;
          e.values[l] = written ? sum : v.before.v[destination + k][l];
        }
        v.after.push_back(e);
      }
      out.push_back(std::move(v));
    }
  }
}

// Assumption NORM_ROUNDING.
u32 norm(Half half, double low, double scale) {
  const double value = value_of(half);
  const double limited = std::isnan(value) ? 0 : std::clamp(value, low, 1.0);
  return static_cast<u32>(static_cast<i32>(std::nearbyint(limited * scale))) & 0xffff;
}

std::vector<Alu> norms() {
  const auto snorm = [](Half a) { return norm(a, -1, 32767); };
  const auto unorm = [](Half a) { return norm(a, 0, 65535); };
  return {
      alu("v_cvt_norm_i16_f16", [=](Half a) { return static_cast<i16>(snorm(a)); }),
      alu("v_cvt_norm_u16_f16", [=](Half a) { return static_cast<u16>(unorm(a)); }),
      alu("v_cvt_pknorm_i16_f16", [=](Half a, Half b) { return snorm(a) + snorm(b) * 65536; },
          {.op_sel = true}),
      alu("v_cvt_pknorm_u16_f16", [=](Half a, Half b) { return unorm(a) + unorm(b) * 65536; },
          {.op_sel = true}),
  };
}

// One byte of the destination changes. MODE rounds up there, and the conversion does not follow.
void add_accumulated_bytes(Vectors& out, Arch arch) {
  const Op op = find_op(arch, "v_cvt_pkaccum_u8_f32");
  for (const u32 mode : {0x1f0U, 0x1f5U}) {
    for (const bool negative : {false, true}) {
      Vector v = random_registers(op, "byte", {{second, "place"}, {destination, "old"}});
      const auto& reals = edges(Type::f32);
      for (unsigned l = 0; l < lanes; ++l) {
        const float ordinary = static_cast<float>(l) * 5.25F - 30.5F;
        v.before.v[first][l] =
            l % 4 == 0 ? static_cast<u32>(reals[l / 4 % reals.size()]) : bits_of(ordinary);
      }
      v.before.mode = mode;
      v.before.exec = negative ? ~u64{0} : some;
      v.words = encode::vop3(
          op.number, {.dst = destination, .src = {first, second, 0}, .neg = negative ? 1U : 0U});
      Expected e{.index = destination, .values = {}};
      for (unsigned l = 0; l < lanes; ++l) {
        const auto source = static_cast<double>(float_of(v.before.v[first][l]));
        const double value = negative ? -source : source;
        const double limited = std::isnan(value) ? 0 : std::clamp(value, 0.0, 255.0);
        const u32 place = v.before.v[second][l] % 4, old = v.before.v[destination][l];
        u32 wanted = 0;
        for (u32 k = 0; k < 4; ++k) {
          const u32 kept = old >> 8 * k & 0xff;
          wanted |= (k == place ? static_cast<u32>(std::nearbyint(limited)) : kept) << 8 * k;
        }
        e.values[l] = (v.before.exec >> l & 1) != 0 ? wanted : old;
      }
      v.after = {e};
      out.push_back(std::move(v));
    }
  }
}

u32 fused_pair(u32 a, u32 b, u32 c) {
  const auto half = [](u32 bits) { return Half{static_cast<u16>(bits)}; };
  const u32 low = fused(half(a), half(b), half(c)).bits;
  return low | static_cast<u32>(fused(half(a >> 16), half(b >> 16), half(c >> 16)).bits) << 16;
}

Vector pair_vector(const Op& op, const std::string& note, const Operands& low,
                   const Operands& high) {
  Vector v{.operation = op.name, .note = note};
  for (unsigned l = 0; l < lanes; ++l) {
    v.before.v[first][l] = static_cast<u32>(low[0][l] | high[0][l] << 16);
    v.before.v[second][l] = static_cast<u32>(low[1][l] | high[1][l] << 16);
    v.before.v[destination][l] = static_cast<u32>(low[2][l] | high[2][l] << 16);
  }
  return v;
}

void add_fused_pairs(Vectors& out, Arch arch) {
  const Op op = find_op(arch, "v_pk_fmac_f16");
  const std::vector<Type> types(3, Type::f16);
  const auto low = operand_rows(op.name, types, {}), high = operand_rows("high", types, {});
  const auto add = [&](Vector v, u64 written, auto first_source) {
    Expected e{.index = destination, .values = {}, .compare = Compare::two_f16};
    for (unsigned l = 0; l < lanes; ++l) {
      const u32 old = v.before.v[destination][l];
      const u32 value = fused_pair(first_source(v, l), v.before.v[second][l], old);
      e.values[l] = (written >> l & 1) != 0 ? value : old;
    }
    v.after = {e};
    out.push_back(std::move(v));
  };
  const auto same = [](Vector& v, unsigned l) { return v.before.v[first][l]; };
  for (std::size_t n = 0; n < low.size(); ++n) {
    Vector v = pair_vector(op, "registers", low[n], high[n]);
    v.words = n % 2 == 0 ? encode::vop2(op.number, destination, first, second)
                         : encode::vop3(0x100 + op.number,
                                        {.dst = destination, .src = {first, second, 0}});
    v.before.exec = n == 3 ? some : ~u64{0};
    add(v, v.before.exec, same);
  }
  // A float constant is the low half alone, an integer has its sign above; a literal is itself.
  for (const auto& [code, value] :
       {std::pair{242U, 0x3c00U}, {193U, 0xffffffffU}, {20U, 0x4000b801U}, {literal, 0x1234U}}) {
    Vector v = pair_vector(op, "scalar", low[0], high[0]);
    v.words = encode::vop2(op.number, destination, code, second);
    if (code == literal) v.words.push_back(value);
    if (code == 20) v.before.s[20] = value;
    const u32 constant = value;
    add(v, ~u64{0}, [=](Vector&, unsigned) { return constant; });
  }
  Vector v = pair_vector(op, "DPP", low[1], high[1]);
  v.words = encode::vop2(op.number, destination, 250, second);
  v.words.push_back(encode::dpp({.src0 = first, .ctrl = 0x141, .row_mask = 5}));  // half mirrored
  add(v, 0x0000ffff0000ffff,
      [](Vector& before, unsigned l) { return before.before.v[first][l - l % 8 + 7 - l % 8]; });
}

}  // namespace

Vectors graphics_vectors(Arch arch) {
  Vectors out;
  for (const auto& table : {cubes(), norms()}) {
    for (const Alu& alu : table) add_vectors(out, arch, alu);
  }
  add_vectors(out, arch, quad("v_qsad_pk_u16_u8", false));
  add_vectors(out, arch, quad("v_mqsad_pk_u16_u8", true));
  add_wide_quads(out, arch);
  add_accumulated_bytes(out, arch);
  add_fused_pairs(out, arch);
  return out;
}

}  // namespace gfx_test
