// DS operations that move data between lanes and never touch LDS.
#include "alu.hpp"
#include "families.hpp"

namespace gfx_test {
namespace {

using mla::gfx::Arch;

constexpr unsigned address = vgpr + 10, data = vgpr + 12, destination = vgpr + 20;
constexpr u64 masks[] = {~u64{0}, 0x8001f00f5555aaa8, 2};

Vector start(const Op& op, const std::string& note, u64 exec) {
  Vector v =
      random_registers(op, note, {{address, "address"}, {data, "data"}, {destination, "old"}});
  v.before.exec = exec;
  return v;
}

void finish(Vectors& out, Vector v, const Row& result) {
  Expected e{.index = destination, .values = {}};
  for (unsigned l = 0; l < lanes; ++l) {
    const bool active = (v.before.exec >> l & 1) != 0;
    e.values[l] = active ? result[l] : v.before.v[destination][l];
  }
  v.after = {e};
  out.push_back(std::move(v));
}

void add_permutations(Vectors& out, Arch arch) {
  const Op push = find_op(arch, "ds_permute_b32"), pull = find_op(arch, "ds_bpermute_b32");
  for (const u64 mask : masks) {
    const auto active = [&](unsigned l) { return (mask >> l & 1) != 0; };
    Vector a = start(push, "push", mask), b = start(pull, "pull", mask);
    a.words = encode::ds(push.number,
                         {.dst = destination, .address = address, .data0 = data, .offset0 = 12});
    b.words = encode::ds(pull.number,
                         {.dst = destination, .address = address, .data0 = data, .offset0 = 20});
    Row pushed{}, pulled{};
    for (unsigned l = 0; l < lanes; ++l) {
      if (active(l)) pushed[(a.before.v[address][l] + 12) / 4 % 64] = a.before.v[data][l];
      const unsigned from = (b.before.v[address][l] + 20) / 4 % 64;
      pulled[l] = active(from) ? b.before.v[data][from] : 0;
    }
    finish(out, a, pushed);
    finish(out, b, pulled);
  }
}

// The lane a pattern reads from: quads, groups of 32 by masks, rotation, and the order of an FFT.
unsigned swizzled(unsigned lane, unsigned pattern) {
  const unsigned in = lane % 32, group = lane - in, mask = pattern % 32;
  if (pattern >= 0xe000) {
    unsigned from = 0, ones = 0;
    for (unsigned k = 0; k < 5; ++k) {
      from |= (in >> k & 1) << (4 - k);
      ones += mask >> k & 1;
    }
    return group + (from >> ones | (in & mask));
  }
  if (pattern >= 0xc000) {
    const unsigned by = pattern >> 5 & 31, turned = (pattern >> 10 & 1) != 0 ? 32 - by : by;
    return group + ((in & mask) | ((in + turned) % 32 & ~mask));
  }
  if (pattern >= 0x8000) return lane - lane % 4 + (pattern >> 2 * (lane % 4) & 3);
  return group + (((in & mask) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

void add_swizzles(Vectors& out, Arch arch) {
  const Op op = find_op(arch, "ds_swizzle_b32");
  for (const unsigned pattern :
       {0x001fU, 0x041fU, 0x7c1fU, 0x0c10U, 0x00a5U, 0x801bU, 0x8000U, 0x80b1U, 0xc020U, 0xc420U,
        0xc3e0U, 0xc021U, 0xc4e3U, 0xe000U, 0xe010U, 0xe01fU, 0xe00cU}) {
    for (const u64 mask : masks) {
      Vector v = start(op, "pattern " + std::to_string(pattern), mask);
      v.words = encode::ds(op.number, {.dst = destination,
                                       .address = data,
                                       .offset0 = pattern % 256,
                                       .offset1 = pattern / 256});
      Row result{};
      for (unsigned l = 0; l < lanes; ++l) {
        const unsigned from = swizzled(l, pattern);
        result[l] = (mask >> from & 1) != 0 ? v.before.v[data][from] : 0;
      }
      finish(out, v, result);
    }
  }
}

}  // namespace

Vectors ds_lane_vectors(Arch arch) {
  Vectors out;
  add_permutations(out, arch);
  add_swizzles(out, arch);
  return out;
}

}  // namespace gfx_test
