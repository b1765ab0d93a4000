// Owns: every instruction of an image, decoded once. Branches know the index of their target.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"
#include "hip_backend/gfx_emulator/object/image.hpp"

namespace mla::gfx {

struct Program {
  static constexpr std::uint32_t npos = ~std::uint32_t{0};

  const Operations* operations = nullptr;
  // Where the code ends, one of no words says so.
  std::vector<Inst> instructions;
  std::vector<std::uint32_t> index;  // by offset / 4

  // Index of the instruction at an offset of the image, or npos.
  [[nodiscard]] std::uint32_t index_at(std::uint64_t offset) const {
    return offset % 4 == 0 && offset / 4 < index.size() ? index[offset / 4] : npos;
  }
};

// Functions must decode to their last byte. What lies between them (padding, tables) is decoded
// where it can be and is no instruction where it cannot.
[[nodiscard]] Result<Program> decode_program(const Image& image);

}  // namespace mla::gfx
