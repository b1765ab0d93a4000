#include "hip_backend/gfx_emulator/exec/access.hpp"

#include <cstdio>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"

namespace mla::gfx {
namespace {

bool within(const Range& range, std::uint64_t address, std::uint64_t size) {
  const std::uint64_t offset = address - range.base;
  return offset < range.size && size <= range.size - offset;
}

// Says where the address lies relative to the nearest range below it.
std::string describe(const std::vector<Range>& ranges, std::uint64_t address, std::uint64_t size) {
  const Range* nearest = nullptr;
  for (const Range& range : ranges) {
    if (range.base <= address) nearest = &range;
  }
  const std::string what = std::to_string(size) + " bytes";
  if (address < 4096) return what + " through a null pointer";
  constexpr std::uint64_t near = std::uint64_t{1} << 20;
  if (nearest == nullptr || address - nearest->base > nearest->size + near) {
    return what + " outside every registered range";
  }
  const std::uint64_t offset = address - nearest->base;
  return what + " at offset " + std::to_string(offset) + " of '" + nearest->name + "', which has " +
         std::to_string(nearest->size) + " bytes";
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
        (intent == Intent::read ? "read of " : "write of ") + describe(ranges, address, size));
  } else {
    report_fault(wave, inst, Problem::read_only, lane, address,
                 "write of " + std::to_string(size) + " bytes into '" + range->name +
                     "', which is read-only");
  }
  return nullptr;
}

}  // namespace mla::gfx
