// Owns: where code was inlined: DW_TAG_inlined_subroutine of DWARF 4 and 5, ".debug_info".
//
// As for lines, what cannot be read is left out, and a lookup then finds nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "hip_backend/gfx_emulator/elf/line_table.hpp"

namespace mla::gfx {

class InlineTable {
 public:
  // The calls in whose place the code at the address stands, innermost first.
  [[nodiscard]] std::vector<SourceLine> calls(std::uint64_t address) const;

 private:
  friend class InlineReader;
  struct Call {
    std::uint64_t begin = 0, end = 0;  // addresses of its code, or of a part of it
    std::uint32_t depth = 0;           // the innermost has the greatest
    SourceLine line;
  };
  std::vector<Call> calls_;
  friend InlineTable read_inline_table(const DebugSections& sections, const LineTable& lines);
};

[[nodiscard]] InlineTable read_inline_table(const DebugSections& sections, const LineTable& lines);

}  // namespace mla::gfx
