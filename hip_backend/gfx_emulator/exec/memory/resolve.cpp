#include "hip_backend/gfx_emulator/exec/memory/resolve.hpp"

#include <cstdio>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/memory/intended_range.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"

namespace mla::gfx {
namespace {

bool within(const Range& range, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t offset = address - range.base;
  return offset < range.size && size <= range.size - offset;
}

// Says where the address lies relative to the range that was meant.
std::string describe(const Wave& wave, const Inst& inst, std::uint64_t address,
                     std::uint64_t size) {
  const std::string what = std::to_string(size) + " bytes";
  if (address < 4096) return what + " through a null pointer";
  const Range* const range = intended_range(wave, inst, address);
  if (range == nullptr) return what + " outside every registered range";
  const auto offset = static_cast<std::int64_t>(address - range->base);
  return what + " at offset " + std::to_string(offset) + " of '" + range->name + "', which has " +
         std::to_string(range->size) + " bytes";
}

}  // namespace

bool allowed(Wave& wave, std::uint64_t address, std::uint64_t size, Intent intent) {
  if (!within(wave.seen, address, size)) {
    const Range* range = find_range(wave.group->launch->ranges, address, size);
    if (range == nullptr || size == 0) return false;
    wave.seen.base = range->base;
    wave.seen.size = range->size;
    wave.seen.rights = range->rights;
  }
  return intent == Intent::read || wave.seen.rights == Rights::read_write;
}

std::byte* access(Wave& wave, const Inst& inst, int lane, std::uint64_t address, std::uint64_t size,
                  Intent intent) {
  if (allowed(wave, address, size, intent)) return reinterpret_cast<std::byte*>(address);
  const auto& ranges = wave.group->launch->ranges;
  const Range* range = find_range(ranges, address, size);
  if (range == nullptr) {
    report_fault(
        wave, inst, Problem::out_of_bounds, lane, address,
        (intent == Intent::read ? "read of " : "write of ") + describe(wave, inst, address, size));
  } else {
    report_fault(wave, inst, Problem::read_only, lane, address,
                 "write of " + std::to_string(size) + " bytes into '" + range->name +
                     "', which is read-only");
  }
  return nullptr;
}

void report_order_of_buffer(Wave& wave, const Inst& inst) {
  const bool swizzled = wave.s[inst.src[2] + 1U] >> 31 != 0;
  report_fault(wave, inst, Problem::not_implemented, -1, 0,
               std::string("the buffer descriptor has ") +
                   (swizzled ? "SWIZZLE_ENABLE (bit 31 of its second dword)"
                             : "ADD_TID_ENABLE (bit 23 of its fourth dword)") +
                   "; only linear buffers are modelled");
}

void report_dropped(Wave& wave, const Inst& inst, const std::uint32_t* offset, std::uint64_t lanes,
                    std::uint32_t size, Intent intent) {
  for (int l = 0; l < 64; ++l) {
    if ((lanes >> l & 1) == 0 || offset[l] == Checks::masked_offset) continue;
    const std::uint64_t base = wave.pair(inst.src[2]) & 0xffffffffffff;
    const auto from = static_cast<std::int64_t>(static_cast<std::int32_t>(offset[l])) + inst.imm +
                      read_scalar(wave, inst, inst.src[3]);
    const std::uint64_t address = base + static_cast<std::uint64_t>(from);
    return report_finding(wave, inst, Problem::hidden_out_of_bounds, l, address,
                          (intent == Intent::read ? "read of " : "write of ") +
                              describe(wave, inst, address, size) +
                              "; the hardware drops it without a word");
  }
}

}  // namespace mla::gfx
