// The device code that this build carries: one code object for each architecture and source file.
//
// The bytes are embedded in the library and live as long as the program. Units are named after the
// files of kernels/: "decode", "reduce", "expand", "planner", "prefill"; for AMD "assumptions" too.
// What was not built is absent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mla::hip {

// Empty when this build has none.
std::span<const std::byte> code_object(std::string_view arch, std::string_view unit);

// All that this build has for an architecture.
struct CodeUnit {
  std::string_view name;
  std::span<const std::byte> code;
};
std::vector<CodeUnit> code_units(std::string_view arch);

// Whether these bytes are one of them.
bool is_built_in(std::span<const std::byte> code);

// Architectures with code, "gfx942, gfx950"; and why others are missing, as the build found it.
std::vector<std::string> built_architectures();
std::string_view build_notes();

}  // namespace mla::hip
