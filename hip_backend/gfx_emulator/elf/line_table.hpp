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
  // Of code that was inlined here from a header of a library: where it stands, as text() has it.
  std::string inlined = {};
  [[nodiscard]] std::string text() const { return file + ":" + std::to_string(line); }
  [[nodiscard]] std::string full_text() const {
    return inlined.empty() ? text() : text() + ", inlined from " + inlined;
  }
};

// The sections, as they are in the file; empty where there is none.
struct DebugSections {
  std::span<const std::byte> line, line_strings, strings;
  std::span<const std::byte> info, abbreviations, addresses, ranges, range_lists;
};

class LineTable {
 public:
  // `address` is what the debug information counts in: the offset in the image.
  [[nodiscard]] std::optional<SourceLine> find(std::uint64_t address) const;
  // A file of the table at this offset of the section; empty: there is none.
  [[nodiscard]] std::string file(std::uint64_t table, std::uint64_t number) const;

 private:
  friend class LineProgram;
  struct Row {
    std::uint64_t address;
    std::uint32_t file, line, column;  // file: index into files_, or none
    bool end;                          // the first address after a sequence
  };
  struct Part {
    std::uint64_t offset;    // in the section
    std::size_t begin, end;  // its files
  };
  std::vector<std::string> files_;
  std::vector<Part> parts_;
  std::vector<Row> rows_;  // sorted by address
  friend LineTable read_line_table(const DebugSections& sections);
};

[[nodiscard]] LineTable read_line_table(const DebugSections& sections);

}  // namespace mla::gfx
