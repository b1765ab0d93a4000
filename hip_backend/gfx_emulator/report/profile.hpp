// What a launch did at each instruction, beside the instruction's text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/elf/line_table.hpp"

namespace mla::gfx {

class CodeObject;

// What all waves of a launch did at one instruction.
struct InstructionCount {
  std::uint64_t executed = 0;
  std::uint64_t lanes = 0;  // active ones, of a vector instruction
  std::uint64_t bytes_read = 0, bytes_written = 0;
  std::uint64_t lds_bytes_read = 0, lds_bytes_written = 0;
  std::uint64_t bank_conflicts = 0;  // extra passes over 32 banks
  void add(const InstructionCount& other);
};

struct ProfileLine {
  std::uint64_t pc = 0;  // offset in the image
  std::string place;     // "kernel+0x1c"
  std::string text;      // as `gfx disassemble` has it
  std::optional<SourceLine> source;
  InstructionCount count;
};

// The text of the instruction at an offset of the image, the target of a branch as a place.
[[nodiscard]] std::string text_at(const CodeObject& object, std::uint64_t offset);

// The functions of which something was executed, whole; `counts` by the index of the instruction.
[[nodiscard]] std::vector<ProfileLine> profile_lines(const CodeObject& object,
                                                     std::span<const InstructionCount> counts);

}  // namespace mla::gfx
