// Owns: LDS as instructions see it: bounds, bank conflicts, and the notes for the race checker.
// Also the resolution of flat addresses, which may mean LDS or scratch.
#pragma once

#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

// 64 lane accesses of `size` bytes each. `at` is null for lanes without an access.
struct LanePointers {
  std::byte* at[lanes];
  std::uint64_t active;  // lanes whose pointer is set
  std::uint64_t zeroed;  // lanes that read zero instead
};

inline void count_access(Statistics& s, Intent intent, std::uint64_t bytes, bool lds) {
  const bool read = intent == Intent::read;
  if (lds) {
    (read ? s.lds_bytes_read : s.lds_bytes_written) += bytes;
  } else {
    (read ? s.bytes_read : s.bytes_written) += bytes;
  }
}

// LDS at byte offsets; a lane outside the allocation is a fault, reads zero and writes nothing.
void resolve_lds(Wave& wave, const Inst& inst, const std::uint32_t* offsets, std::uint64_t mask,
                 std::uint32_t size, Intent intent, LanePointers& out);

// Scratch of each lane at byte offsets.
void resolve_scratch(Wave& wave, const Inst& inst, const std::uint32_t* offsets, std::uint64_t mask,
                     std::uint32_t size, Intent intent, LanePointers& out);

// Global addresses; `flat` ones may lie in the apertures of LDS and scratch.
void resolve_global(Wave& wave, const Inst& inst, const std::uint64_t* addresses,
                    std::uint64_t mask, std::uint32_t size, Intent intent, bool flat,
                    LanePointers& out);

}  // namespace mla::gfx
