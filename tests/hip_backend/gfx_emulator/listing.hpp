// Owns: what llvm-objdump says of a code object: the mnemonic and length of every instruction.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace gfx_test {

struct Line {
  std::string mnemonic;  // without the encoding: "v_add_f32"
  unsigned words = 0;
  bool operator==(const Line&) const = default;
};
using Listing = std::map<std::uint64_t, Line>;  // by address

// Runs MLA_OBJDUMP; fails the test when it fails.
[[nodiscard]] Listing listing_of(const std::filesystem::path& file);

}  // namespace gfx_test
