// Owns: what llvm-objdump says of a code object: mnemonic, operands and length of every
// instruction.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace gfx_test {

struct Line {
  std::string mnemonic;  // without the encoding: "v_add_f32"
  std::string operands;  // and modifiers, one space between them: "v1, v2, s3 clamp"
  unsigned words = 0;

  [[nodiscard]] std::string text() const {
    return operands.empty() ? mnemonic : mnemonic + " " + operands;
  }
  // False for data, and where the disassembler found a register that the operation cannot take.
  [[nodiscard]] bool is_instruction() const {
    return mnemonic[0] != '.' && operands.find("/*") == std::string::npos;
  }
};
using Listing = std::map<std::uint64_t, Line>;  // by address

// Runs MLA_OBJDUMP; fails the test when it fails.
[[nodiscard]] Listing listing_of(const std::filesystem::path& file);

// "22" of "LLVM version 22.1.0".
[[nodiscard]] std::string disassembler_version();

}  // namespace gfx_test
