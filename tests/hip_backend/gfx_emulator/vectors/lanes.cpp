// Operations between lanes, accumulation registers, and bytes of stochastic conversions.
#include "alu.hpp"
#include "families.hpp"
#include "reference.hpp"

namespace gfx_test {
namespace {

using namespace reference;
using mla::gfx::Arch;

constexpr unsigned first = vgpr + 10, second = vgpr + 14, destination = vgpr + 22, scalar = 30;
constexpr u64 masks[] = {~u64{0}, 0x8001f00f5555aaa8, 0xffffffff00000000, 1, u64{1} << 63, 0};

Vector start(const Op& op, const std::string& note) {
  return random_registers(op, note, {{first, "first"}, {second, "second"}, {destination, "old"}});
}

Expected expect_row(unsigned reg, const Row& row) {
  Expected out{.index = reg, .values = {}};
  std::copy(row.begin(), row.end(), out.values.begin());
  return out;
}

// Lane `l` of a register becomes f(l) where EXEC (or every lane) is on.
template <class F>
Expected computed(const Vector& v, unsigned reg, u64 mask, F f) {
  Row row = v.before.v.at(reg);
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) != 0) row[l] = f(l);
  }
  return expect_row(reg, row);
}

void add_scalar_reads(Vectors& out, Arch arch) {
  const Op read_first = find_op(arch, "v_readfirstlane_b32");
  for (const u64 mask : masks) {
    Vector v = start(read_first, "first lane");
    v.before.exec = mask;
    v.words = encode::vop1(read_first.number, scalar, first);
    const i32 lane = mask == 0 ? 0 : lowest_bit(mask);
    v.after = {expect_scalar(scalar, v.before.v.at(first)[static_cast<unsigned>(lane)])};
    out.push_back(std::move(v));
  }
  const Op read = find_op(arch, "v_readlane_b32"), write = find_op(arch, "v_writelane_b32");
  for (const u32 lane : {0U, 5U, 31U, 32U, 63U, 64U, 129U}) {
    Vector v = start(read, "lane " + std::to_string(lane));
    v.before.s[34] = lane;
    v.before.exec = 2;
    v.words = encode::vop3(read.number, {.dst = scalar, .src = {first, 34, 0}});
    v.after = {expect_scalar(scalar, v.before.v.at(first)[lane % 64])};
    out.push_back(std::move(v));
    Vector w = start(write, "lane " + std::to_string(lane));
    w.before.s[34] = 0xcafe0000 + lane;
    w.before.s[124] = lane;
    w.before.exec = 2;
    w.words = encode::vop3(write.number, {.dst = destination, .src = {34, m0, 0}});
    w.after = {
        computed(w, destination, u64{1} << lane % 64, [&](unsigned) { return 0xcafe0000 + lane; })};
    out.push_back(std::move(w));
  }
}

void add_counts(Vectors& out, Arch arch) {
  for (const bool high : {false, true}) {
    const Op op = find_op(arch, high ? "v_mbcnt_hi_u32_b32" : "v_mbcnt_lo_u32_b32");
    for (const u64 mask : masks) {
      Vector v = start(op, "lanes below");
      v.before.exec = mask;
      v.words = encode::vop3(op.number, {.dst = destination, .src = {first, second, 0}});
      v.after = {computed(v, destination, mask, [&](unsigned l) {
        u32 count = v.before.v.at(second)[l];
        for (unsigned k = 0; k < 32; ++k) {
          if ((high ? k + 32 : k) < l) count += v.before.v.at(first)[l] >> k & 1;
        }
        return count;
      })};
      out.push_back(std::move(v));
    }
  }
}

void add_swaps(Vectors& out, Arch arch) {
  struct Swap {
    const char* name;
    unsigned block;  // lanes that change places; 64: all of the register
  };
  for (const auto& [name, block] :
       {Swap{"v_swap_b32", 64}, {"v_permlane16_swap_b32", 16}, {"v_permlane32_swap_b32", 32}}) {
    const Op op = find_op(arch, name);
    if (op.name.empty()) continue;
    for (const u64 mask : masks) {
      Vector v = start(op, "swap");
      v.before.exec = mask;
      v.words = encode::vop1(op.number, first, second);
      Row a = v.before.v.at(first), b = v.before.v.at(second);
      for (unsigned l = 0; l < lanes; ++l) {
        if (block == 64) {
          if ((mask >> l & 1) != 0) std::swap(a[l], b[l]);
        } else if (l / block % 2 == 1) {  // assumption PERMLANE_SWAP_EXEC
          std::swap(a[l], b[l - block]);
        }
      }
      v.after = {expect_row(first, a), expect_row(second, b)};
      out.push_back(std::move(v));
    }
  }
}

void add_accumulators(Vectors& out, Arch arch) {
  const Op read = find_op(arch, "v_accvgpr_read_b32"), write = find_op(arch, "v_accvgpr_write_b32");
  const Op move = find_op(arch, "v_accvgpr_mov_b32");
  constexpr unsigned a5 = agpr + 5, a9 = agpr + 9;
  for (const u64 mask : masks) {
    for (const Op& op : {read, write, move}) {
      Vector v = start(op, "accumulator");
      put_row(v.before, a5, random_row("a5"), 4);
      put_row(v.before, a9, random_row("a9"), 4);
      v.before.exec = mask;
      const bool to = op.name != read.name, from = op.name != write.name;
      const unsigned dst = to ? a9 : destination, src = from ? a5 : first;
      if (op.name == move.name) {
        v.words = encode::vop1(op.number, vgpr + 9, vgpr + 5);
      } else {
        v.words = encode::vop3p(op.number, {.dst = to ? vgpr + 9 : destination,
                                            .src = {from ? vgpr + 5 : first, 0, 0}});
      }
      v.after = {computed(v, dst, mask, [&](unsigned l) { return v.before.v.at(src)[l]; })};
      out.push_back(std::move(v));
    }
    Vector v = start(write, "constant");
    put_row(v.before, a9, random_row("a9"), 4);
    v.before.exec = mask;
    v.words = encode::vop3p(write.number, {.dst = vgpr + 9, .src = {193, 0, 0}});
    v.after = {computed(v, a9, mask, [](unsigned) { return ~0U; })};
    out.push_back(std::move(v));
  }
}

// The number below or at value + random * unit: a whole count of the format's units.
double stochastic(double value, u32 random, int fraction_bits, int lowest) {
  const int exponent = std::ilogb(value);
  const int dropped = 23 - fraction_bits + std::max(0, lowest - exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, lowest) - fraction_bits);
  const double added = dropped >= 32 ? random : static_cast<double>(random >> (32 - dropped));
  return std::copysign(std::floor(std::abs(value) / unit + std::ldexp(added, -dropped)) * unit,
                       value);
}

// Assumption STOCHASTIC_ROUNDING, for numbers in the range of the format.
void add_stochastic_bytes(Vectors& out, Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  for (const bool four : {true, false}) {
    const Op op = find_op(arch, four ? "v_cvt_sr_fp8_f32" : "v_cvt_sr_bf8_f32");
    const Byte format = four ? (fnuz ? fp8_fnuz : fp8_ocp) : (fnuz ? bf8_fnuz : bf8_ocp);
    const int lowest = 2 - (1 << (format.exponent_bits - 1)) - (fnuz ? 1 : 0);
    for (unsigned byte = 0; byte < 4; ++byte) {
      Vector v = start(op, "byte " + std::to_string(byte));
      v.before.exec = byte == 2 ? 0xff00ff00ff00ff00 : ~u64{0};
      for (unsigned l = 0; l < lanes; ++l) {
        const double size = std::ldexp(1 + l / 64.0, lowest - 3 + static_cast<int>(l) % 14);
        v.before.v[first][l] = bits_of(static_cast<float>(l % 3 == 0 ? -size : size));
      }
      v.words = encode::vop3(op.number,
                             {.dst = destination, .src = {first, second, 0}, .op_sel = byte << 2});
      v.after = {computed(v, destination, v.before.exec, [&](unsigned l) {
        const auto value = static_cast<double>(float_of(v.before.v.at(first)[l]));
        const double kept =
            stochastic(value, v.before.v.at(second)[l], format.fraction_bits, lowest);
        const u32 old = v.before.v.at(destination)[l];
        return (old & ~(0xffU << 8 * byte)) | byte_of(kept, format, false) << 8 * byte;
      })};
      out.push_back(std::move(v));
    }
  }
}

// From denormals of f16 to what is too large for it, and to large numbers of bf16.
void add_stochastic_halves(Vectors& out, Arch arch, bool brain) {
  const Op op = find_op(arch, brain ? "v_cvt_sr_bf16_f32" : "v_cvt_sr_f16_f32");
  if (op.name.empty()) return;
  const auto encoded = [&](double value, u32 random) -> u32 {
    if (brain) return brain_of(stochastic(value, random, 7, -126));
    return half_of(stochastic(value, random, 10, -14)).bits;
  };
  for (const unsigned op_sel : {0U, 8U}) {
    Vector v = start(op, "half");
    v.before.exec = op_sel == 0 ? ~u64{0} : 0x123456789abcdef0;
    for (unsigned l = 0; l < lanes; ++l) {
      v.before.v[first][l] = bits_of(
          static_cast<float>((l % 2 == 0 ? 1 : -1) * std::exp2(brain ? l / 3.7 : l * 0.71 - 27)));
    }
    v.words =
        encode::vop3(op.number, {.dst = destination, .src = {first, second, 0}, .op_sel = op_sel});
    v.after = {computed(v, destination, v.before.exec, [&](unsigned l) {
      const auto value = static_cast<double>(float_of(v.before.v.at(first)[l]));
      const u32 half = encoded(value, v.before.v.at(second)[l]);
      const u32 old = v.before.v.at(destination)[l];
      return op_sel == 0 ? (old & 0xffff0000) | half : (old & 0xffff) | half << 16;
    })};
    out.push_back(std::move(v));
  }
}

}  // namespace

Vectors lane_vectors(Arch arch) {
  Vectors out;
  add_scalar_reads(out, arch);
  add_counts(out, arch);
  add_swaps(out, arch);
  add_accumulators(out, arch);
  add_stochastic_bytes(out, arch);
  for (const bool brain : {true, false}) add_stochastic_halves(out, arch, brain);
  return out;
}

}  // namespace gfx_test
