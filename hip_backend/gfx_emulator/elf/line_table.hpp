// Owns: which line of which source file an instruction comes from: DWARF 4 and 5, ".debug_line".
//
// Debug information is a help and never a condition: what cannot be read (another version, a form
// that is not known, a table cut short) is left out, and a lookup then finds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mla::gfx {

struct SourceLine {
  std::string file;
  std::uint32_t line = 0;    // from 1
  std::uint32_t column = 0;  // from 1; 0: not stated
  [[nodiscard]] std::string text() const { return file + ":" + std::to_string(line); }
};

// The sections, as they are in the file; empty where there is none.
struct DebugSections {
  std::span<const std::byte> line, line_strings, strings;
};

class LineTable {
 public:
  // `address` is what the debug information counts in: the offset in the image.
  [[nodiscard]] std::optional<SourceLine> find(std::uint64_t address) const;

 private:
  friend class LineProgram;
  struct Row {
    std::uint64_t address;
    std::uint32_t file, line, column;  // file: index into files_, or none
    bool end;                          // the first address after a sequence
  };
  std::vector<std::string> files_;
  std::vector<Row> rows_;  // sorted by address
  friend LineTable read_line_table(const DebugSections& sections);
};

[[nodiscard]] LineTable read_line_table(const DebugSections& sections);

}  // namespace mla::gfx
