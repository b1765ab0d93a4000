// The arguments of one kernel launch, from a JSON file of `mla-testbed gfx run`
// (docs/reference/emulator.md).
//
// Owns: the format of the file, the memory of its buffers, and the bytes of the kernel arguments.
// Fails: with the number of the argument, counted from 0, the value, and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/gfx_emulator/memory/memory.hpp"

namespace mla::app {

struct GfxBuffer {
  std::size_t argument = 0;
  std::string type;
  std::span<std::byte> bytes;
  std::string output;      // the file that takes it after the launch; empty: none
  std::uint64_t show = 0;  // elements of it that are printed
};

struct GfxArguments {
  std::unique_ptr<gfx::Memory> memory;
  std::vector<GfxBuffer> buffers;
  std::vector<std::byte> kernarg;
  std::vector<std::string> files;  // that buffers were read from
};

// Files of buffers are looked for beside `path`.
Result<GfxArguments> read_gfx_arguments(const std::string& path, const gfx::Kernel& kernel);

// The first elements of a buffer as numbers.
std::vector<double> shown_elements(const GfxBuffer& buffer);

}  // namespace mla::app
