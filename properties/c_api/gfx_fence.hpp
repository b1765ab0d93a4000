// Owns: copies of a launch's ranges, far apart, so that an index which is wrong by much meets
// unregistered addresses and not another range. Units: bytes. Private to properties/c_api.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/launch.hpp"
#include "properties/c_api/mla_gfx.h"

namespace mla::c_api {

class FencedCopies {
 public:
  FencedCopies() = default;
  FencedCopies(const FencedCopies&) = delete;
  FencedCopies& operator=(const FencedCopies&) = delete;
  ~FencedCopies();

  // Reserves addresses for the range and `fence` bytes on both sides, and copies it in. Only
  // pages that are used take memory.
  [[nodiscard]] MaybeError add(const mla_gfx_range& range, std::uint64_t fence,
                               gfx::Memory& memory);
  // Pointers into the ranges, and to their ends, become pointers into the copies.
  void move_pointers(const gfx::Kernel& kernel, std::span<std::byte> kernarg) const;
  // What may be written goes back to where it came from.
  void copy_back() const;
  // Addresses in the copies become addresses in the ranges.
  void restore_addresses(std::vector<gfx::Event>& events) const;

 private:
  struct Copy {
    mla_gfx_range range;
    std::byte* reserved;  // with the fences
    std::uint64_t reserved_size, fence;
    std::byte* begin;
  };
  std::vector<Copy> copies_;
};

}  // namespace mla::c_api
