#include "hip_backend/hip_runtime/memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/stream_races.hpp"

namespace mla::hip_runtime {

std::size_t free_memory() {
  std::size_t used = 0;
  for (const gfx::Range& range : *runtime().memory.ranges())
    if (range.name == allocated) used += range.size;
  return most_memory - std::min(used, most_memory);
}

hipError_t allocate(void** pointer, std::size_t bytes, Shared shared) {
  if (pointer == nullptr) return keep(hipErrorInvalidValue);
  if (bytes == 0) return *pointer = nullptr, hipSuccess;
  *pointer = nullptr;
  if (bytes > free_memory()) return keep(hipErrorOutOfMemory);
  try {
    gfx::Memory& memory = runtime().memory;
    const bool fresh = runtime().device.options.checks.uninitialised;
    const auto range =
        fresh ? memory.allocate_fresh(bytes, allocated) : memory.allocate(bytes, allocated);
    if (!range) return keep(hipErrorOutOfMemory);
    *pointer = range->data();
    if (StreamRaces* const races = stream_races()) races->forget(*pointer, bytes);
    if (shared.type != hipMemoryTypeDevice) runtime().shared[*pointer] = shared;
  } catch (const std::bad_alloc&) {
    return keep(hipErrorOutOfMemory);
  }
  return hipSuccess;
}

bool forget(const void* base, std::string_view name) {
  const auto ranges = runtime().memory.ranges();
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const auto found = std::find_if(ranges->begin(), ranges->end(), [&](const auto& r) {
    return r.base == address && r.name == name;
  });
  if (found == ranges->end()) return false;
  if (StreamRaces* const races = stream_races()) races->forget(base, found->size);
  if (runtime().memory.release(base)) return false;
  runtime().shared.erase(base);
  runtime().advice.erase(base);
  runtime().pooled.erase(base);
  return true;
}

hipError_t release(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return forget(pointer, allocated) ? hipSuccess : keep(hipErrorInvalidValue);
}

std::optional<gfx::Range> range_of(const void* pointer) {
  const auto ranges = runtime().memory.ranges();
  const auto* const found = gfx::find_range(*ranges, reinterpret_cast<std::uint64_t>(pointer), 1);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

namespace {

Side side_in(std::span<const gfx::Range> ranges, const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (gfx::find_range(ranges, address, bytes) != nullptr) return Side::device;
  return gfx::find_range(ranges, address, 0) != nullptr ? Side::past_the_end : Side::host;
}

// Whether the last byte has an address: a pitch that is none would lead around all of memory.
bool has_addresses(const Place& place, const Extent& extent) {
  constexpr std::size_t most = std::size_t{1} << 47;
  std::size_t slices = 0, rows = 0, sum = 0;
  return !__builtin_mul_overflow(extent.depth - 1, place.slice, &slices) &&
         !__builtin_mul_overflow(extent.height - 1, place.pitch, &rows) &&
         !__builtin_add_overflow(slices, rows, &sum) &&
         !__builtin_add_overflow(sum, extent.width, &sum) && sum < most;
}

// Why `call` may not touch these bytes; nothing if it may. A pointer of the host is not looked at.
hipError_t refuse(const char* call, const Place& place, const Extent& extent, bool on_device) {
  if (extent.width > place.pitch && extent.height * extent.depth > 1)
    return keep(hipErrorInvalidPitchValue);
  if (!has_addresses(place, extent)) return keep(hipErrorInvalidValue);
  const std::size_t bytes = extent.span(place);
  const Side side = side_of(place.base, bytes);
  if (side == Side::past_the_end)
    return fault(hipErrorInvalidValue,
                 say(call, ": ", bytes, " bytes reach past the end of an allocation"));
  if (side == Side::host && on_device)
    return fault(hipErrorInvalidValue, say(call, ": what should be on the device is not"));
  return hipSuccess;
}

std::byte* row_of(const Place& place, std::size_t y, std::size_t z) {
  return static_cast<std::byte*>(place.base) + z * place.slice + y * place.pitch;
}

template <class Row>
void each_row(const Extent& extent, Row row) {
  for (std::size_t z = 0; z < extent.depth; ++z)
    for (std::size_t y = 0; y < extent.height; ++y) row(y, z);
}

}  // namespace

void look_for_races(const char* call, const Place& place, const Extent& extent,
                    gfx::Intent intent) {
  StreamRaces* const races = stream_races();
  if (races == nullptr || side_of(place.base, 0) != Side::device) return;
  races->begin(say(call, " of ", extent.width * extent.height * extent.depth, " bytes"));
  std::string first;
  each_row(extent, [&](std::size_t y, std::size_t z) {
    const std::string race = races->access(row_of(place, y, z), extent.width, intent);
    if (first.empty()) first = race;
  });
  if (!first.empty()) runtime().launched.findings.push_back(first);
}

Side side_of(const void* pointer, std::size_t bytes) {
  Side side = side_in(*runtime().memory.ranges(), pointer, bytes);
  const auto look = [&](const Unit& unit) {  // at its variables
    for (const gfx::CodeObject* object : unit.objects())
      if (side == Side::host) side = side_in(object->ranges(), pointer, bytes);
  };
  for (const auto& unit : runtime().units) look(*unit);
  for (const auto& module : runtime().modules) look(module->unit);
  return side;
}

// Nothing is copied unless every row may be.
hipError_t run(const CopyWork& work) {
  if (static_cast<unsigned>(work.kind) > hipMemcpyDefault)
    return fault(
        hipErrorInvalidMemcpyDirection,
        say("hipMemcpy: the kind of copy is ", static_cast<int>(work.kind), "; expected 0 to 4"));
  if (work.extent.empty()) return hipSuccess;
  if (work.to.base == nullptr || work.from.base == nullptr) return keep(hipErrorInvalidValue);
  const bool both = work.kind == hipMemcpyDeviceToDevice;
  if (const auto bad =
          refuse("hipMemcpy to", work.to, work.extent, both || work.kind == hipMemcpyHostToDevice))
    return bad;
  if (const auto bad = refuse("hipMemcpy from", work.from, work.extent,
                              both || work.kind == hipMemcpyDeviceToHost))
    return bad;
  look_for_races("hipMemcpy", work.from, work.extent, gfx::Intent::read);
  look_for_races("hipMemcpy", work.to, work.extent, gfx::Intent::write);
  each_row(work.extent, [&](std::size_t y, std::size_t z) {
    std::memmove(row_of(work.to, y, z), row_of(work.from, y, z), work.extent.width);
  });
  return hipSuccess;
}

hipError_t run(const FillWork& work) {
  if (work.extent.empty()) return hipSuccess;
  if (const auto bad = refuse("hipMemset", work.to, work.extent, true)) return bad;
  look_for_races("hipMemset", work.to, work.extent, gfx::Intent::write);
  each_row(work.extent, [&](std::size_t y, std::size_t z) {
    std::byte* const row = row_of(work.to, y, z);
    if (work.element == 1)
      return (void)std::memset(row, static_cast<int>(work.value), work.extent.width);
    for (std::size_t x = 0; x < work.extent.width; x += work.element)
      std::memcpy(row + x, &work.value, work.element);  // the low bytes come first here
  });
  return hipSuccess;
}

}  // namespace mla::hip_runtime
