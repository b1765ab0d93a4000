// Memory of the device, and copies that know where it ends.
#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {
namespace {

hipError_t allocate(void** pointer, std::size_t bytes) {
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
  } catch (const std::bad_alloc&) {
    return keep(hipErrorOutOfMemory);
  }
  return hipSuccess;
}

// Forgets the range that begins here, if it has this name.
bool forget(const void* base, std::string_view name) {
  const auto ranges = runtime().memory.ranges();
  const auto address = reinterpret_cast<std::uint64_t>(base);
  const auto found = std::find_if(ranges->begin(), ranges->end(), [&](const auto& r) {
    return r.base == address && r.name == name;
  });
  return found != ranges->end() && !runtime().memory.release(base);
}

hipError_t release(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return forget(pointer, allocated) ? hipSuccess : keep(hipErrorInvalidValue);
}

enum class Side { host, device, past_the_end };

Side side_in(std::span<const gfx::Range> ranges, const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (gfx::find_range(ranges, address, bytes) != nullptr) return Side::device;
  return gfx::find_range(ranges, address, 0) != nullptr ? Side::past_the_end : Side::host;
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

// Why `call` may not touch these bytes; nothing if it may. A pointer of the host is not looked at.
hipError_t refuse(const char* call, const void* pointer, std::size_t bytes, bool on_device) {
  const Side side = side_of(pointer, bytes);
  if (side == Side::past_the_end)
    return fault(hipErrorInvalidValue,
                 say(call, ": ", bytes, " bytes reach past the end of an allocation"));
  if (side == Side::host && on_device)
    return fault(hipErrorInvalidValue, say(call, ": what should be on the device is not"));
  return hipSuccess;
}

hipError_t copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  if (bytes == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) return keep(hipErrorInvalidValue);
  const bool both = kind == hipMemcpyDeviceToDevice;
  if (const auto bad = refuse("hipMemcpy to", to, bytes, both || kind == hipMemcpyHostToDevice))
    return bad;
  if (const auto bad = refuse("hipMemcpy from", from, bytes, both || kind == hipMemcpyDeviceToHost))
    return bad;
  return std::memmove(to, from, bytes), hipSuccess;
}

// Rows of `width` bytes. Nothing is copied unless every row may be.
hipError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                     std::size_t width, std::size_t height, hipMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return keep(hipErrorInvalidPitchValue);
  if (width == 0 || height == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) return keep(hipErrorInvalidValue);
  const bool both = kind == hipMemcpyDeviceToDevice;
  if (const auto bad = refuse("hipMemcpy2D to", to, to_pitch * (height - 1) + width,
                              both || kind == hipMemcpyHostToDevice))
    return bad;
  if (const auto bad = refuse("hipMemcpy2D from", from, from_pitch * (height - 1) + width,
                              both || kind == hipMemcpyDeviceToHost))
    return bad;
  for (std::size_t row = 0; row < height; ++row)
    std::memmove(static_cast<std::byte*>(to) + row * to_pitch,
                 static_cast<const std::byte*>(from) + row * from_pitch, width);
  return hipSuccess;
}

hipError_t set(void* to, int value, std::size_t bytes) {
  if (bytes == 0) return hipSuccess;
  if (const auto bad = refuse("hipMemset", to, bytes, true)) return bad;
  return std::memset(to, value, bytes), hipSuccess;
}

// Empty if no code object registered it.
std::span<std::byte> variable_of(const void* symbol) {
  const auto found = runtime().variables.find(symbol);
  if (found == runtime().variables.end()) return {};
  return found->second.unit->variable(found->second.name);
}

// Where `bytes` from `offset` on of a variable of the device are; null if it has not so many.
std::byte* in_variable(const void* symbol, std::size_t offset, std::size_t bytes) {
  const std::span<std::byte> variable = variable_of(symbol);
  if (variable.empty()) {
    fault(hipErrorInvalidSymbol, "a variable was named that no code object registered");
    return nullptr;
  }
  const std::size_t size = variable.size();
  if (offset <= size && bytes <= size - offset) return variable.data() + offset;
  fault(hipErrorInvalidValue, say(bytes, " bytes from byte ", offset,
                                  " on reach past the end of a variable of ", size, " bytes"));
  return nullptr;
}

}  // namespace

std::size_t free_memory() {
  std::size_t used = 0;
  for (const gfx::Range& range : *runtime().memory.ranges())
    if (range.name == allocated) used += range.size;
  return most_memory - std::min(used, most_memory);
}

}  // namespace mla::hip_runtime

namespace rt = mla::hip_runtime;

extern "C" {

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  const rt::Turn turn;
  return rt::allocate(pointer, bytes);
}
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t) {
  const rt::Turn turn;
  return rt::allocate(pointer, bytes);
}
// A pitch as GPUs have it: rows begin at multiples of 256 bytes.
hipError_t hipMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                          std::size_t height) {
  const rt::Turn turn;
  if (pitch == nullptr || width > rt::most_memory || height > rt::most_memory)
    return rt::keep(hipErrorInvalidValue);
  *pitch = (width + 255) / 256 * 256;
  if (height != 0 && *pitch > rt::most_memory / height) return rt::keep(hipErrorOutOfMemory);
  return rt::allocate(pointer, *pitch * height);
}
// All memory is mapped and coherent here, whatever the flags ask for.
hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned flags) {
  const rt::Turn turn;
  constexpr unsigned known = hipHostMallocPortable | hipHostMallocMapped |
                             hipHostMallocWriteCombined | hipHostMallocNumaUser |
                             hipHostMallocCoherent | hipHostMallocNonCoherent;
  if ((flags & ~known) != 0) return rt::keep(hipErrorInvalidValue);
  return rt::allocate(pointer, bytes);
}
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  const rt::Turn turn;
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return rt::keep(hipErrorInvalidValue);
  return rt::allocate(pointer, bytes);
}
hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  const rt::Turn turn;
  if (free == nullptr || total == nullptr) return rt::keep(hipErrorInvalidValue);
  return *free = rt::free_memory(), *total = rt::most_memory, hipSuccess;
}
// Frees what hipMalloc() and its like gave out. Streams, events and variables stay.
hipError_t hipDeviceReset() {
  const rt::Turn turn;
  const auto ranges = rt::runtime().memory.ranges();
  for (const auto& range : *ranges)
    if (range.name == rt::allocated || range.name == rt::registered)
      (void)rt::runtime().memory.release(reinterpret_cast<const void*>(range.base));
  return hipSuccess;
}
hipError_t hipHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  const rt::Turn turn;
  constexpr unsigned known =
      hipHostRegisterPortable | hipHostRegisterMapped | hipHostRegisterReadOnly;
  if (pointer == nullptr || bytes == 0 || (flags & ~known) != 0)
    return rt::keep(hipErrorInvalidValue);
  const auto rights = (flags & hipHostRegisterReadOnly) != 0 ? mla::gfx::Rights::read
                                                             : mla::gfx::Rights::read_write;
  const auto overlap =
      rt::runtime().memory.add({static_cast<std::byte*>(pointer), bytes}, rt::registered, rights);
  return overlap ? rt::keep(hipErrorHostMemoryAlreadyRegistered) : hipSuccess;
}
hipError_t hipHostUnregister(void* pointer) {
  const rt::Turn turn;
  return rt::forget(pointer, rt::registered) ? hipSuccess
                                             : rt::keep(hipErrorHostMemoryNotRegistered);
}
hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  const rt::Turn turn;
  if (device == nullptr || flags != 0 || rt::side_of(host, 0) != rt::Side::device)
    return rt::keep(hipErrorInvalidValue);
  return *device = host, hipSuccess;
}
hipError_t hipFree(void* pointer) {
  const rt::Turn turn;
  return rt::release(pointer);
}
hipError_t hipFreeAsync(void* pointer, hipStream_t) {
  const rt::Turn turn;
  return rt::release(pointer);
}
hipError_t hipHostFree(void* pointer) {
  const rt::Turn turn;
  return rt::release(pointer);
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::copy(to, from, bytes, kind);
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t) {
  const rt::Turn turn;
  return rt::copy(to, from, bytes, kind);
}
hipError_t hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, hipMemcpyKind kind) {
  const rt::Turn turn;
  return rt::copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
hipError_t hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                            std::size_t from_pitch, std::size_t width, std::size_t height,
                            hipMemcpyKind kind, hipStream_t) {
  const rt::Turn turn;
  return rt::copy_rows(to, to_pitch, from, from_pitch, width, height, kind);
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  const rt::Turn turn;
  return rt::set(to, value, bytes);
}
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t) {
  const rt::Turn turn;
  return rt::set(to, value, bytes);
}

hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  const rt::Turn turn;
  *address = rt::in_variable(symbol, 0, 0);
  return *address == nullptr ? rt::last_error() : hipSuccess;
}
hipError_t hipGetSymbolSize(std::size_t* bytes, const void* symbol) {
  const rt::Turn turn;
  if (rt::in_variable(symbol, 0, 0) == nullptr) return rt::last_error();
  return *bytes = rt::variable_of(symbol).size(), hipSuccess;
}
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                             std::size_t offset, hipMemcpyKind) {
  const rt::Turn turn;
  std::byte* const to = rt::in_variable(symbol, offset, bytes);
  return to == nullptr ? rt::last_error() : rt::copy(to, from, bytes, hipMemcpyDefault);
}
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                               hipMemcpyKind) {
  const rt::Turn turn;
  const std::byte* const from = rt::in_variable(symbol, offset, bytes);
  return from == nullptr ? rt::last_error() : rt::copy(to, from, bytes, hipMemcpyDefault);
}

hipError_t hipPointerGetAttribute(void* value, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  if (attribute != HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR)
    return rt::fault(hipErrorNotSupported,
                     mla::say("hipPointerGetAttribute: attribute ", static_cast<int>(attribute),
                              " has no answer on the emulated device"));
  const auto ranges = rt::runtime().memory.ranges();
  const auto* const range =
      mla::gfx::find_range(*ranges, reinterpret_cast<std::uint64_t>(pointer), 1);
  if (range == nullptr) return rt::keep(hipErrorInvalidValue);
  *static_cast<void**>(value) = reinterpret_cast<void*>(range->base);
  return hipSuccess;
}

}  // extern "C"
