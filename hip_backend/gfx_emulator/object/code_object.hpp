// Owns: a loaded code object: its memory image, its kernels, and every instruction pre-decoded.
//
// Accepts ELF64 AMDGPU code objects (version 4 to 6) for gfx942 and gfx950. A wrong machine, a
// damaged header, an unknown relocation and an unknown encoding inside a function are errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/elf/line_table.hpp"
#include "hip_backend/gfx_emulator/isa/inst.hpp"
#include "hip_backend/gfx_emulator/isa/operations.hpp"
#include "hip_backend/gfx_emulator/memory.hpp"

namespace mla::gfx {

// One argument as the metadata names it; kinds "by_value", "global_buffer", "hidden_group_size_x".
struct Argument {
  std::string kind;
  std::uint32_t offset = 0, size = 0;  // bytes in the kernel argument block
};

struct Kernel {
  std::string name;
  std::uint64_t entry = 0;                 // offset of the first instruction in the image
  std::uint32_t group_segment_size = 0;    // LDS bytes known at compile time
  std::uint32_t private_segment_size = 0;  // scratch bytes for each lane
  std::uint32_t kernarg_size = 0;          // the larger of descriptor and metadata
  std::uint32_t vgprs = 0;                 // unified registers of a wave
  std::uint32_t accum_offset = 0;          // first accumulation register in them
  std::uint32_t float_mode = 0;            // round and denormal bits, MODE[7:0]
  bool dx10_clamp = false, ieee = false;
  bool dynamic_stack = false;
  std::uint32_t user_sgprs = 0;
  std::uint16_t properties = 0;                          // which user registers are set up
  std::uint32_t preload_length = 0, preload_offset = 0;  // kernel arguments in registers, dwords
  std::array<bool, 3> workgroup_id = {};                 // which id registers are set up
  std::uint32_t workitem_id = 0;                         // 0: x, 1: x and y, 2: all
  std::uint32_t max_workgroup_size = 0;                  // 0: not stated
  // What the compiler says of its registers; 0 where it says nothing.
  std::uint32_t stated_vgprs = 0, stated_agprs = 0, stated_sgprs = 0;
  std::uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
  std::vector<Argument> arguments;
};

struct Symbol {
  std::string name;
  std::uint64_t offset = 0, size = 0;
  bool function = false;
};

class CodeObject {
 public:
  [[nodiscard]] Arch arch() const { return arch_; }
  [[nodiscard]] std::span<const Kernel> kernels() const { return kernels_; }
  [[nodiscard]] const Kernel* kernel(std::string_view name) const;
  [[nodiscard]] std::span<const Symbol> symbols() const { return symbols_; }
  // Address of a global variable, as a kernel sees it; empty where there is none.
  [[nodiscard]] std::span<std::byte> variable(std::string_view name) const;

  // For the executor.
  [[nodiscard]] std::byte* image() const { return image_.get(); }
  [[nodiscard]] std::span<const Range> ranges() const { return ranges_; }
  [[nodiscard]] std::span<const Inst> instructions() const { return instructions_; }
  // Index of the instruction at an offset of the image, or npos.
  static constexpr std::uint32_t npos = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t index_at(std::uint64_t offset) const;
  [[nodiscard]] const Operations& operations() const { return *operations_; }
  [[nodiscard]] std::string place(std::uint64_t offset) const;  // "kernel+0x1c"
  // The source line, where the code object has debug information.
  [[nodiscard]] std::optional<SourceLine> source(std::uint64_t offset) const {
    return lines_.find(offset);
  }

 private:
  friend class CodeObjectBuilder;
  Arch arch_ = Arch::gfx942;
  const Operations* operations_ = nullptr;
  std::shared_ptr<std::byte[]> image_;
  std::size_t image_size_ = 0;
  std::vector<Range> ranges_;
  std::vector<Kernel> kernels_;
  std::vector<Symbol> symbols_;
  std::vector<Inst> instructions_;
  std::vector<std::uint32_t> index_;  // by offset / 4
  LineTable lines_;
};

struct LoadOptions {
  HostPath path = best_host_path();
  std::size_t image_limit = std::size_t{1} << 30;  // bytes of the loaded image
};

[[nodiscard]] Result<CodeObject> load_code_object(std::span<const std::byte> bytes,
                                                  const LoadOptions& options);

}  // namespace mla::gfx
