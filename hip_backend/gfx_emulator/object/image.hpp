// Owns: a code object in memory: its segments with relocations done, its symbols and its kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
#include "hip_backend/gfx_emulator/isa/traits.hpp"
#include "hip_backend/gfx_emulator/memory/ranges.hpp"
#include "hip_backend/gfx_emulator/object/kernel.hpp"

namespace mla::gfx {

struct Symbol {
  std::string name;
  std::uint64_t offset = 0, size = 0;
  bool function = false;
};

struct Image {
  // Offsets of executable bytes, whole instructions.
  struct Code {
    std::uint64_t begin, end;
  };

  Arch arch = Arch::gfx942;
  std::shared_ptr<std::byte[]> bytes;
  std::size_t size = 0;
  std::vector<Range> ranges;    // by address
  std::vector<Symbol> symbols;  // by offset
  std::vector<Kernel> kernels;
  std::vector<Code> code;  // by offset

  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size && count <= size - offset;
  }
  [[nodiscard]] bool is_code(std::uint64_t offset) const;
  [[nodiscard]] std::string place(std::uint64_t offset) const;  // "kernel+0x1c"
};

// Fails: another machine, an image above `limit` bytes, what lies outside the image, a kernel
// without code, a relocation that is unknown or names what is not defined, a damaged note.
[[nodiscard]] Result<Image> load_image(std::span<const std::byte> file, const ElfFile& elf,
                                       std::size_t limit);

}  // namespace mla::gfx
