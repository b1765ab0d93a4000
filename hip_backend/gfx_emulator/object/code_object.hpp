// Owns: a loaded code object: its image, its program, and the lines of its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/lifetime.hpp"
#include "hip_backend/gfx_emulator/elf/inline_table.hpp"
#include "hip_backend/gfx_emulator/elf/line_table.hpp"
#include "hip_backend/gfx_emulator/object/image.hpp"
#include "hip_backend/gfx_emulator/object/program.hpp"

namespace mla::gfx {

class CodeObject {
 public:
  CodeObject(Image image, Program program, LineTable lines, InlineTable inlined)
      : image_(std::move(image)),
        program_(std::move(program)),
        lines_(std::move(lines)),
        inlined_(std::move(inlined)) {}

  [[nodiscard]] Arch arch() const { return image_.arch; }
  [[nodiscard]] std::span<const Kernel> kernels() const MLA_LIFETIME_BOUND {
    return image_.kernels;
  }
  [[nodiscard]] const Kernel* kernel(std::string_view name) const MLA_LIFETIME_BOUND;
  [[nodiscard]] std::span<const Symbol> symbols() const MLA_LIFETIME_BOUND {
    return image_.symbols;
  }
  // Address of a global variable, as a kernel sees it; empty where there is none.
  [[nodiscard]] std::span<std::byte> variable(std::string_view name) const MLA_LIFETIME_BOUND;

  // For the executor.
  [[nodiscard]] std::byte* image() const MLA_LIFETIME_BOUND { return image_.bytes.get(); }
  [[nodiscard]] std::span<const Range> ranges() const MLA_LIFETIME_BOUND { return image_.ranges; }
  [[nodiscard]] std::span<const Inst> instructions() const MLA_LIFETIME_BOUND {
    return program_.instructions;
  }
  static constexpr std::uint32_t npos = Program::npos;
  [[nodiscard]] std::uint32_t index_at(std::uint64_t offset) const {
    return program_.index_at(offset);
  }
  [[nodiscard]] const Operations& operations() const MLA_LIFETIME_BOUND {
    return *program_.operations;
  }
  [[nodiscard]] std::string place(std::uint64_t offset) const { return image_.place(offset); }
  // The source line, where the code object has debug information. Of code that was inlined from a
  // header of HIP or of the compiler, the line of the user's that called it.
  [[nodiscard]] std::optional<SourceLine> source(std::uint64_t offset) const;
  // Where the code stands, whatever it was inlined into.
  [[nodiscard]] std::optional<SourceLine> own_line(std::uint64_t offset) const {
    return lines_.find(offset);
  }

 private:
  Image image_;
  Program program_;
  LineTable lines_;
  InlineTable inlined_;
};

}  // namespace mla::gfx
