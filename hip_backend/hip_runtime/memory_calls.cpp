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

Side side_of(const void* pointer, std::size_t bytes) {
  const auto ranges = runtime().memory.ranges();
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (gfx::find_range(*ranges, address, bytes) != nullptr) return Side::device;
  return gfx::find_range(*ranges, address, 0) != nullptr ? Side::past_the_end : Side::host;
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

}  // extern "C"
