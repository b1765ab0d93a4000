// Owns: the pre-decoded instruction, made once for each code object and executed many times.
//
// Operand codes are the 9-bit codes of the encodings, extended by the accumulation registers:
//   0..127 scalar registers (106 VCC, 124 M0, 126 EXEC), 128..255 constants and special values,
//   256..511 v0..v255, 512..767 a0..a255, `none` for an operand that does not exist.
#pragma once

#include <array>
#include <cstdint>

#include "hip_backend/gfx_emulator/isa/traits.hpp"

namespace mla::gfx {

// What executes an instruction belongs to exec/, which puts it there.
struct Wave;
struct Inst;
using Handler = void (*)(Wave&, const Inst&);

enum class Encoding : std::uint8_t {
  sop1,
  sop2,
  sopk,
  sopc,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3p,
  ds,
  flat,
  scratch,
  global,
  mubuf,
  count
};

namespace code {
constexpr std::uint16_t vcc = 106, m0 = 124, exec = 126, literal = 255, vgpr = 256, agpr = 512;
constexpr std::uint16_t shared_base = 235, shared_limit = 236, private_base = 237;
constexpr std::uint16_t private_limit = 238, vccz = 251, execz = 252, scc = 253, none = 0xffff;
}  // namespace code

// As large as a cache line: a loop of a kernel has thousands of them.
struct Inst {
  Handler run = nullptr;      // null until it is bound
  std::uint32_t at = 0;       // byte offset from the start of the code
  std::uint32_t literal = 0;  // the literal constant, or the second word of an extended form
  std::int32_t imm = 0;       // memory offset, simm16, or the index of the branch target
  std::uint16_t op = 0;       // index into the operations of the architecture
  std::uint16_t dst = code::none;
  std::uint16_t sdst = code::none;  // carry out, compare result
  std::array<std::uint16_t, 4> src = {code::none, code::none, code::none, code::none};
  std::array<std::uint8_t, 4> width = {};  // dst, src0, src1, src2 in dwords
  std::uint8_t words = 1;                  // encoded length in dwords
  Class kind = Class::other;
  std::uint8_t neg = 0, abs = 0;           // a bit for each source; packed forms: neg and neg_hi
  std::uint8_t op_sel = 0, op_sel_hi = 0;  // bit 3 of op_sel: the destination
  std::uint8_t slow = 0;    // bit k: source k is no plain vector register, or carries modifiers
  std::uint8_t spread = 0;  // bit k: source k is slow only because it is the same for all lanes
  std::uint16_t dpp_ctrl = 0;
  std::uint8_t row_mask = 15, bank_mask = 15;
  std::array<std::uint8_t, 2> sel = {6, 6};  // SDWA source selection
  std::uint8_t offset1 = 0;                  // second offset of DS
  std::uint8_t dst_sel : 3 = 6;              // SDWA
  std::uint8_t dst_unused : 2 = 0;
  std::uint8_t omod : 2 = 0;
  bool post : 1 = false;      // the result needs more than the EXEC mask
  std::uint8_t cbsz : 3 = 0;  // matrix instructions
  std::uint8_t blgp : 3 = 0;
  bool clamp : 1 = false;
  bool is_vector : 1 = false;  // the gpr index mode applies
  std::uint8_t abid : 4 = 0;
  bool by_mode : 1 = false;  // computes with the rounding and the denormals of MODE
  bool dpp : 1 = false, sdwa : 1 = false, bound_ctrl : 1 = false;
  bool sext0 : 1 = false, sext1 : 1 = false;  // SDWA sign extension
  bool offen : 1 = false, idxen : 1 = false, lds : 1 = false, glc : 1 = false, sve : 1 = false;
  bool nt : 1 = false, sc1 : 1 = false;  // caches: nothing here depends on them
};
static_assert(sizeof(Inst) == 64);

// What an s_waitcnt leaves outstanding. The largest counts wait for nothing.
struct WaitCounts {
  static constexpr unsigned most_vm = 63, most_lgkm = 15;
  unsigned vm, lgkm;
};
constexpr WaitCounts wait_counts(const Inst& inst) {
  const auto bits = static_cast<unsigned>(inst.imm);
  return {(bits & 15) | (bits >> 10 & 0x30), bits >> 8 & 15};
}

}  // namespace mla::gfx
