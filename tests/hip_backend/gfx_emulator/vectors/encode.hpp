// Owns: machine words from fields, for every encoding of gfx942 and gfx950; written from the field
// tables of the manuals, with no part of the decoder.
//
// Operands are 9-bit codes: 0..127 scalar registers, 128.. constants, 255 a literal that the caller
// appends, 256.. vector registers. Accumulation registers: 512 and up, where an encoding has a bit
// for them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace gfx_test {

using Words = std::vector<std::uint32_t>;

constexpr unsigned vgpr = 256, agpr = 512, literal = 255, vcc = 106, m0 = 124, exec = 126;
constexpr unsigned zero = 128, one = 129, all_ones = 193;  // inline constants 0, 1, -1

[[nodiscard]] Words join(const std::vector<Words>& parts);

namespace encode {

[[nodiscard]] Words sop1(unsigned op, unsigned dst, unsigned src);
[[nodiscard]] Words sop2(unsigned op, unsigned dst, unsigned src0, unsigned src1);
[[nodiscard]] Words sopk(unsigned op, unsigned dst, int constant);
[[nodiscard]] Words sopc(unsigned op, unsigned src0, unsigned src1);
[[nodiscard]] Words sopp(unsigned op, int constant);

struct Smem {
  unsigned data = 0, base = 0;
  int offset = 0;
  bool immediate = true;  // `offset` counts
  unsigned soffset = no_soffset;
  static constexpr unsigned no_soffset = 0xff;
};
[[nodiscard]] Words smem(unsigned op, const Smem& fields);

[[nodiscard]] Words vop1(unsigned op, unsigned dst, unsigned src);
[[nodiscard]] Words vop2(unsigned op, unsigned dst, unsigned src0, unsigned src1);
[[nodiscard]] Words vopc(unsigned op, unsigned src0, unsigned src1);

struct Vop3 {
  unsigned dst = 0;
  std::array<unsigned, 3> src = {};
  unsigned neg = 0, abs = 0, op_sel = 0, omod = 0;
  bool clamp = false;
  unsigned sdst = none;  // VOP3B: a pair of scalar registers in the place of abs and op_sel
  static constexpr unsigned none = 0xff;
};
[[nodiscard]] Words vop3(unsigned op, const Vop3& fields);

struct Vop3p {
  unsigned dst = 0;
  std::array<unsigned, 3> src = {};
  unsigned neg = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 7;
  bool clamp = false;
};
[[nodiscard]] Words vop3p(unsigned op, const Vop3p& fields);

struct Mfma {
  unsigned dst = 0;  // 512 and up: C and D are accumulation registers
  std::array<unsigned, 3> src = {};
  unsigned cbsz = 0, abid = 0, blgp = 0;
};
[[nodiscard]] Words mfma(unsigned op, const Mfma& fields);

struct Scales {
  unsigned a = 0, b = 0, byte_a = 0, byte_b = 0;
};
// The prefix that gives an f8f6f4 instruction its scales.
[[nodiscard]] Words mfma_scale(const Scales& scales);

// Second words; the first has 249 (SDWA) or 250 (DPP) as its first source.
struct Sdwa {
  unsigned src0 = vgpr;  // a scalar register below 128
  unsigned dst_sel = 6, dst_unused = 0, src0_sel = 6, src1_sel = 6;
  bool sext0 = false, neg0 = false, abs0 = false, sext1 = false, neg1 = false, abs1 = false;
  bool clamp = false, scalar1 = false;
  unsigned omod = 0;
};
[[nodiscard]] std::uint32_t sdwa(const Sdwa& fields);
[[nodiscard]] std::uint32_t sdwa_compare(const Sdwa& fields, unsigned sdst);
struct Dpp {
  unsigned src0 = vgpr, ctrl = 0, row_mask = 15, bank_mask = 15;
  bool bound_ctrl = false, neg0 = false, abs0 = false, neg1 = false, abs1 = false;
};
[[nodiscard]] std::uint32_t dpp(const Dpp& fields);

struct Ds {
  unsigned dst = vgpr, address = vgpr, data0 = vgpr, data1 = vgpr;
  unsigned offset0 = 0, offset1 = 0;
};
[[nodiscard]] Words ds(unsigned op, const Ds& fields);

enum class Segment : std::uint8_t { flat, scratch, global };
struct Flat {
  unsigned dst = vgpr, address = vgpr, data = vgpr;
  unsigned saddr = 0x7f;  // none
  int offset = 0;
  bool returns = false;  // sc0: an atomic gives back what was there
  bool sve = false;      // scratch: the address register counts
};
[[nodiscard]] Words flat(unsigned op, Segment segment, const Flat& fields);

struct Mubuf {
  unsigned data = vgpr, address = vgpr, descriptor = 0, soffset = zero;
  unsigned offset = 0;
  bool offen = false, idxen = false, lds = false, returns = false;
};
[[nodiscard]] Words mubuf(unsigned op, const Mubuf& fields);

}  // namespace encode
}  // namespace gfx_test
