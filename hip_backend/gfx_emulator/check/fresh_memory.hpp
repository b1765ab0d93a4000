// Owns: the check of global memory that is read before anything was written to it.
//
// Only of ranges that are fresh (memory/ranges.hpp): a dword of them that still holds the word of
// its place is one that nobody wrote, neither a kernel nor the host. A dword of which a byte was
// written counts as written. What is written by chance is the same word once in 2^32.
#pragma once

#include <span>

#include "hip_backend/gfx_emulator/exec/memory/watch.hpp"
#include "hip_backend/gfx_emulator/memory/ranges.hpp"

namespace mla::gfx {

class FreshMemory final : public GlobalWatch {
 public:
  explicit FreshMemory(std::span<const Range> ranges) : ranges_(ranges) {}

  // Whether there is anything to watch.
  [[nodiscard]] static bool any(std::span<const Range> ranges);
  void global_access(Wave& wave, const Inst& inst, const std::uint64_t* addresses,
                     std::uint64_t lanes, std::uint32_t size, Intent intent) override;

 private:
  // The first dword of these bytes that nobody wrote, or 0.
  [[nodiscard]] std::uint64_t unwritten(std::uint64_t address, std::uint32_t size);

  std::span<const Range> ranges_;
  const Range* last_ = nullptr;
};

}  // namespace mla::gfx
