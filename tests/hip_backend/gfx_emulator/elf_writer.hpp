// A code object made by hand: one kernel, its descriptor, its symbols and its metadata.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gfx_test {

struct HandMade {
  std::vector<std::uint32_t> words;
  std::uint32_t machine = 0x54c;  // gfx942; 0x54f: gfx950
  std::uint32_t lds = 0;
  std::uint32_t scratch = 0;  // bytes a lane
  std::uint32_t kernarg_size = 8;
  std::uint32_t float_mode = 0xf0;  // denormals kept; 0xc0: f32 flushed
};

[[nodiscard]] std::vector<std::byte> write_elf(const HandMade& kernel);

}  // namespace gfx_test
