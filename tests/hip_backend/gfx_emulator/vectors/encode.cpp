#include "encode.hpp"

namespace gfx_test {

using u32 = std::uint32_t;

Words join(const std::vector<Words>& parts) {
  Words out;
  for (const Words& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

namespace encode {
namespace {

u32 low(unsigned value, unsigned bits) {
  return value & ((1U << bits) - 1);
}
bool is_accumulator(unsigned operand) {
  return operand >= agpr;
}
u32 sources(const std::array<unsigned, 3>& src) {
  return low(src[0], 9) | low(src[1], 9) << 9 | low(src[2], 9) << 18;
}

}  // namespace

Words sop1(unsigned op, unsigned dst, unsigned src) {
  return {0xbe800000 | dst << 16 | op << 8 | src};
}
Words sop2(unsigned op, unsigned dst, unsigned src0, unsigned src1) {
  return {0x80000000 | op << 23 | dst << 16 | src1 << 8 | src0};
}
Words sopk(unsigned op, unsigned dst, int constant) {
  return {0xb0000000 | op << 23 | dst << 16 | low(static_cast<unsigned>(constant), 16)};
}
Words sopc(unsigned op, unsigned src0, unsigned src1) {
  return {0xbf000000 | op << 16 | src1 << 8 | src0};
}
Words sopp(unsigned op, int constant) {
  return {0xbf800000 | op << 16 | low(static_cast<unsigned>(constant), 16)};
}

Words smem(unsigned op, const Smem& f) {
  const bool both = f.soffset != Smem::no_soffset && f.immediate;
  u32 second = 0;
  if (f.immediate) second = low(static_cast<unsigned>(f.offset), 21);
  if (both) second |= f.soffset << 25;
  if (!f.immediate && f.soffset != Smem::no_soffset) second = f.soffset;
  return {
      0xc0000000 | op << 18 | u32{f.immediate} << 17 | u32{both} << 14 | f.data << 6 | f.base / 2,
      second};
}

Words vop1(unsigned op, unsigned dst, unsigned src) {
  return {0x7e000000 | low(dst, 8) << 17 | op << 9 | low(src, 9)};
}
Words vop2(unsigned op, unsigned dst, unsigned src0, unsigned src1) {
  return {op << 25 | low(dst, 8) << 17 | low(src1, 8) << 9 | low(src0, 9)};
}
Words vopc(unsigned op, unsigned src0, unsigned src1) {
  return {0x7c000000 | op << 17 | low(src1, 8) << 9 | low(src0, 9)};
}

Words vop3(unsigned op, const Vop3& f) {
  const u32 middle = f.sdst == Vop3::none ? f.abs << 8 | f.op_sel << 11 : f.sdst << 8;
  return {0xd0000000 | op << 16 | u32{f.clamp} << 15 | middle | low(f.dst, 8),
          sources(f.src) | f.omod << 27 | f.neg << 29};
}

Words vop3p(unsigned op, const Vop3p& f) {
  return {0xd3800000 | op << 16 | u32{f.clamp} << 15 | (f.op_sel_hi >> 2 & 1) << 14 |
              f.op_sel << 11 | f.neg_hi << 8 | low(f.dst, 8),
          sources(f.src) | low(f.op_sel_hi, 2) << 27 | f.neg << 29};
}

Words mfma(unsigned op, const Mfma& f) {
  const u32 accumulators = u32{is_accumulator(f.src[0])} | u32{is_accumulator(f.src[1])} << 1;
  const std::array<unsigned, 3> plain = {is_accumulator(f.src[0]) ? f.src[0] - 256 : f.src[0],
                                         is_accumulator(f.src[1]) ? f.src[1] - 256 : f.src[1],
                                         is_accumulator(f.src[2]) ? f.src[2] - 256 : f.src[2]};
  return {0xd3800000 | op << 16 | u32{is_accumulator(f.dst)} << 15 | f.abid << 11 | f.cbsz << 8 |
              low(f.dst, 8),
          sources(plain) | accumulators << 27 | f.blgp << 29};
}

Words mfma_scale(const Scales& s) {
  return {0xd3ac0000 | (s.byte_a & 1) << 11 | (s.byte_b & 1) << 12,
          low(s.a, 9) | low(s.b, 9) << 9 | (s.byte_a >> 1 & 1) << 27 | (s.byte_b >> 1 & 1) << 28};
}

std::uint32_t sdwa(const Sdwa& f) {
  return low(f.src0, 8) | f.dst_sel << 8 | f.dst_unused << 11 | u32{f.clamp} << 13 | f.omod << 14 |
         f.src0_sel << 16 | u32{f.sext0} << 19 | u32{f.neg0} << 20 | u32{f.abs0} << 21 |
         u32{f.src0 < 128} << 23 | f.src1_sel << 24 | u32{f.sext1} << 27 | u32{f.neg1} << 28 |
         u32{f.abs1} << 29 | u32{f.scalar1} << 31;
}
std::uint32_t sdwa_compare(const Sdwa& f, unsigned sdst) {
  return (sdwa(f) & 0xffff00ff) | sdst << 8 | 1U << 15;
}
std::uint32_t dpp(const Dpp& f) {
  return low(f.src0, 8) | f.ctrl << 8 | u32{f.bound_ctrl} << 19 | u32{f.neg0} << 20 |
         u32{f.abs0} << 21 | u32{f.neg1} << 22 | u32{f.abs1} << 23 | f.bank_mask << 24 |
         f.row_mask << 28;
}

Words ds(unsigned op, const Ds& f) {
  const bool acc = is_accumulator(f.dst) || is_accumulator(f.data0);
  return {0xd8000000 | u32{acc} << 25 | op << 17 | f.offset1 << 8 | f.offset0,
          low(f.address, 8) | low(f.data0, 8) << 8 | low(f.data1, 8) << 16 | low(f.dst, 8) << 24};
}

Words flat(unsigned op, Segment segment, const Flat& f) {
  const bool acc = is_accumulator(f.dst) || is_accumulator(f.data);
  return {0xdc000000 | op << 18 | u32{f.returns} << 16 | static_cast<u32>(segment) << 14 |
              u32{f.sve} << 13 | low(static_cast<unsigned>(f.offset), 13),
          low(f.address, 8) | low(f.data, 8) << 8 | (segment == Segment::flat ? 0 : f.saddr) << 16 |
              u32{acc} << 23 | low(f.dst, 8) << 24};
}

Words mubuf(unsigned op, const Mubuf& f) {
  return {0xe0000000 | op << 18 | u32{f.lds} << 16 | u32{f.returns} << 14 | u32{f.idxen} << 13 |
              u32{f.offen} << 12 | f.offset,
          low(f.address, 8) | low(f.data, 8) << 8 | f.descriptor / 4 << 16 |
              u32{is_accumulator(f.data)} << 23 | f.soffset << 24};
}

}  // namespace encode
}  // namespace gfx_test
