#include "hip_backend/gfx_emulator/check/fresh_memory.hpp"

#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/gfx_emulator/exec/wave.hpp"

namespace mla::gfx {

bool FreshMemory::any(std::span<const Range> ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [](const Range& r) { return r.fresh; });
}

std::uint64_t FreshMemory::unwritten(std::uint64_t address, std::uint32_t size) {
  if (last_ == nullptr || address - last_->base >= last_->size)
    last_ = find_range(ranges_, address, size);
  if (last_ == nullptr || !last_->fresh) return 0;  // flat: LDS, scratch
  for (std::uint64_t at = address & ~std::uint64_t{3}; at < address + size; at += 4) {
    std::uint32_t word = 0;
    if (at - last_->base + sizeof word > last_->size) return 0;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(at), sizeof word);
    if (word == fresh_word(at - last_->base)) return at;
  }
  return 0;
}

void FreshMemory::global_access(Wave& wave, const Inst& inst, const std::uint64_t* addresses,
                                std::uint64_t active, std::uint32_t size, Intent intent) {
  if (intent == Intent::write) return;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((active >> l & 1) == 0) continue;
    const std::uint64_t at = unwritten(addresses[l], size);
    if (at == 0) continue;
    return report_finding(wave, inst, Problem::uninitialised_memory, static_cast<int>(l), at,
                          "nothing was written to this dword");
  }
}

}  // namespace mla::gfx
