// Owns: the opcode tables. One row is one operation of one encoding: its number, its name, and how
// many registers it writes and reads. What an operation does stands in exec/, found by name.
//
// Widths are dwords per lane (vector operands) or dwords (scalar operands), in the order
// destination, src0, src1, src2; 0 means the operand does not exist.
// Numbers and widths: "AMD Instinct MI300 / CDNA4 Instruction Set Architecture" manuals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace mla::gfx {

enum class Arch : std::uint8_t { gfx942, gfx950 };
enum class Only : std::uint8_t { both, gfx942, gfx950 };

struct Row {
  std::uint16_t op;
  const char* name;
  std::array<std::uint8_t, 4> width;
  Only only = Only::both;
};

#define MLA_GFX_ROWS(table)        \
  extern const Row table##_rows[]; \
  extern const std::size_t table##_rows_count
MLA_GFX_ROWS(sop1);
MLA_GFX_ROWS(sop2);
MLA_GFX_ROWS(sopk);
MLA_GFX_ROWS(sopc);
MLA_GFX_ROWS(sopp);
MLA_GFX_ROWS(smem);
MLA_GFX_ROWS(vop1);
MLA_GFX_ROWS(vop2);
MLA_GFX_ROWS(vop3);
MLA_GFX_ROWS(vop3p);
MLA_GFX_ROWS(ds);
MLA_GFX_ROWS(memory);
#undef MLA_GFX_ROWS

}  // namespace mla::gfx
