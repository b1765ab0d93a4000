#include "hip_backend/gfx_emulator/exec/memory/intended_range.hpp"

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"

namespace mla::gfx {
namespace {

// The base of a buffer or of an address with a scalar part. A compiler may have moved it past the
// end of what it points into, which is why one byte before it is asked for as well.
const Range* range_of_base(const Wave& wave, const Inst& inst) {
  std::uint64_t base = 0;
  if (inst.kind == Class::buffer) {
    base = wave.pair(inst.src[2]) & 0xffffffffffff;
  } else if (inst.kind == Class::global && inst.src[2] != code::none) {
    base = wave.pair(inst.src[2]);
  } else {
    return nullptr;
  }
  const auto& ranges = wave.group->launch->ranges;
  const Range* const range = find_range(ranges, base, 1);
  return range != nullptr || base == 0 ? range : find_range(ranges, base - 1, 1);
}

std::uint64_t distance(const Range& range, std::uint64_t address) {
  if (address < range.base) return range.base - address;
  const std::uint64_t offset = address - range.base;
  return offset < range.size ? 0 : offset - range.size;
}

}  // namespace

const Range* intended_range(const Wave& wave, const Inst& inst, std::uint64_t address) {
  if (const Range* const range = range_of_base(wave, inst)) return range;
  constexpr std::uint64_t near = std::uint64_t{1} << 20;
  const Range* nearest = nullptr;
  for (const Range& range : wave.group->launch->ranges) {
    if (nearest == nullptr || distance(range, address) < distance(*nearest, address)) {
      nearest = &range;
    }
  }
  return nearest != nullptr && distance(*nearest, address) <= near ? nearest : nullptr;
}

}  // namespace mla::gfx
