// Owns: the opcode tables. One row is one operation of one encoding: its number, its name, how many
// registers it writes and reads, and its traits. What an operation does stands in exec/, found by
// name.
//
// Widths are dwords per lane (vector operands) or dwords (scalar operands), in the order
// destination, src0, src1, src2; 0 means the operand does not exist.
// Numbers and widths: "AMD Instinct MI300 / CDNA4 Instruction Set Architecture" manuals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hip_backend/gfx_emulator/isa/traits.hpp"

namespace mla::gfx {

struct Row {
  std::uint16_t op;
  const char* name;
  std::array<std::uint8_t, 4> width;
  Traits traits = {};
};

// Whether no architecture has two operations of one number.
template <std::size_t n>
constexpr bool numbered_once(const Row (&rows)[n]) {
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      const Only first = rows[a].traits.only, second = rows[b].traits.only;
      const bool together = first == Only::both || second == Only::both || first == second;
      if (rows[a].op == rows[b].op && together) return false;
    }
  }
  return true;
}

std::span<const Row> sop1_rows();
std::span<const Row> sop2_rows();
std::span<const Row> sopk_rows();
std::span<const Row> sopc_rows();
std::span<const Row> sopp_rows();
std::span<const Row> smem_rows();
std::span<const Row> vop1_rows();
std::span<const Row> vop2_rows();
std::span<const Row> vop3_rows();
std::span<const Row> vop3p_rows();
std::span<const Row> ds_rows();
std::span<const Row> memory_rows();  // of FLAT, GLOBAL, SCRATCH and MUBUF

}  // namespace mla::gfx
