// Memory of the device, and copies that know where it ends.
#include <cstring>
#include <new>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/state.hpp"

namespace mla::hip_runtime {
namespace {

hipError_t allocate(void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return keep(hipErrorInvalidValue);
  if (bytes == 0) return *pointer = nullptr, hipSuccess;
  *pointer = nullptr;
  if (bytes > most_memory) return keep(hipErrorOutOfMemory);
  try {
    const auto range = runtime().memory.allocate(bytes, "hipMalloc");
    if (!range) return keep(hipErrorOutOfMemory);
    *pointer = range->data();
  } catch (const std::bad_alloc&) {
    return keep(hipErrorOutOfMemory);
  }
  return hipSuccess;
}

hipError_t release(void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  return runtime().memory.release(pointer) ? keep(hipErrorInvalidValue) : hipSuccess;
}

enum class Side { host, device, past_the_end };

Side side_in(std::span<const gfx::Range> ranges, const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (gfx::find_range(ranges, address, bytes) != nullptr) return Side::device;
  return gfx::find_range(ranges, address, 0) != nullptr ? Side::past_the_end : Side::host;
}

Side side_of(const void* pointer, std::size_t bytes) {
  Side side = side_in(*runtime().memory.ranges(), pointer, bytes);
  for (const auto& object : runtime().objects)  // its variables
    if (side == Side::host) side = side_in(object->ranges(), pointer, bytes);
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

hipError_t set(void* to, int value, std::size_t bytes) {
  if (bytes == 0) return hipSuccess;
  if (const auto bad = refuse("hipMemset", to, bytes, true)) return bad;
  return std::memset(to, value, bytes), hipSuccess;
}

// Where `bytes` from `offset` on of a variable of the device are; null if it has not so many.
std::byte* in_variable(const void* symbol, std::size_t offset, std::size_t bytes) {
  const auto found = runtime().variables.find(symbol);
  if (found == runtime().variables.end()) {
    fault(hipErrorInvalidSymbol, "a variable was named that no code object registered");
    return nullptr;
  }
  const std::size_t size = found->second.size();
  if (offset <= size && bytes <= size - offset) return found->second.data() + offset;
  fault(hipErrorInvalidValue, say(bytes, " bytes from byte ", offset,
                                  " on reach past the end of a variable of ", size, " bytes"));
  return nullptr;
}

}  // namespace
}  // namespace mla::hip_runtime

namespace rt = mla::hip_runtime;

extern "C" {

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  return rt::allocate(pointer, bytes);
}
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t) {
  return rt::allocate(pointer, bytes);
}
hipError_t hipHostMalloc(void** pointer, std::size_t bytes, unsigned) {
  return rt::allocate(pointer, bytes);
}
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned) {
  return rt::allocate(pointer, bytes);
}
hipError_t hipFree(void* pointer) {
  return rt::release(pointer);
}
hipError_t hipFreeAsync(void* pointer, hipStream_t) {
  return rt::release(pointer);
}
hipError_t hipHostFree(void* pointer) {
  return rt::release(pointer);
}
hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
  return rt::copy(to, from, bytes, kind);
}
hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                          hipStream_t) {
  return rt::copy(to, from, bytes, kind);
}
hipError_t hipMemset(void* to, int value, std::size_t bytes) {
  return rt::set(to, value, bytes);
}
hipError_t hipMemsetAsync(void* to, int value, std::size_t bytes, hipStream_t) {
  return rt::set(to, value, bytes);
}

hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  *address = rt::in_variable(symbol, 0, 0);
  return *address == nullptr ? rt::runtime().last : hipSuccess;
}
hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes,
                             std::size_t offset, hipMemcpyKind) {
  std::byte* const to = rt::in_variable(symbol, offset, bytes);
  return to == nullptr ? rt::runtime().last : rt::copy(to, from, bytes, hipMemcpyDefault);
}
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                               hipMemcpyKind) {
  const std::byte* const from = rt::in_variable(symbol, offset, bytes);
  return from == nullptr ? rt::runtime().last : rt::copy(to, from, bytes, hipMemcpyDefault);
}

}  // extern "C"
