// What memory programs have, and where it is.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/memory.hpp"
#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/stream.hpp"
#include "hip_backend/hip_runtime/stream_races.hpp"

namespace rt = mla::hip_runtime;

extern "C" {

hipError_t hipMalloc(void** pointer, std::size_t bytes) {
  const rt::Turn turn;
  if (const auto bad = rt::refuse_while_capturing("hipMalloc")) return bad;
  return rt::allocate(pointer, bytes);
}
// Memory that a graph allocates would have another address at each launch.
hipError_t hipMallocAsync(void** pointer, std::size_t bytes, hipStream_t stream) {
  const rt::Turn turn;
  if (rt::capture_of(stream))
    return rt::fault(hipErrorNotSupported, "hipMallocAsync: graphs have no nodes of memory here");
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
  return rt::allocate(pointer, bytes, hipMemoryTypeHost);
}
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  const rt::Turn turn;
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return rt::keep(hipErrorInvalidValue);
  return rt::allocate(pointer, bytes, hipMemoryTypeManaged);
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
  rt::order().host_waits_for_all();
  rt::runtime().shared.clear();
  rt::runtime().faulted = hipSuccess;
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
  if (rt::StreamRaces* const races = rt::stream_races()) races->forget(pointer, bytes);
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
  if (const auto bad = rt::refuse_while_capturing("hipFree")) return bad;
  rt::order().host_waits_for_all();
  return rt::release(pointer);
}
hipError_t hipFreeAsync(void* pointer, hipStream_t stream) {
  const rt::Turn turn;
  if (rt::capture_of(stream))
    return rt::fault(hipErrorNotSupported, "hipFreeAsync: graphs have no nodes of memory here");
  const rt::OnStream on(rt::order_of(stream));
  const auto ranges = rt::runtime().memory.ranges();
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto* const range = mla::gfx::find_range(*ranges, address, 1);
  if (range != nullptr && range->base == address)
    rt::look_for_races("hipFreeAsync", {pointer}, {range->size}, mla::gfx::Intent::write);
  return rt::release(pointer);
}
hipError_t hipHostFree(void* pointer) {
  const rt::Turn turn;
  rt::order().host_waits_for_all();
  return rt::release(pointer);
}

hipError_t hipExtMallocWithFlags(void** pointer, std::size_t bytes, unsigned) {
  return hipMalloc(pointer, bytes);
}
hipError_t hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
hipError_t hipMallocHost(void** pointer, std::size_t bytes) {
  return hipHostMalloc(pointer, bytes, hipHostMallocDefault);
}
hipError_t hipFreeHost(void* pointer) {
  return hipHostFree(pointer);
}
hipError_t hipMalloc3D(hipPitchedPtr* pointer, hipExtent extent) {
  if (pointer == nullptr || (extent.depth != 0 && extent.height > rt::most_memory / extent.depth))
    return rt::keep(hipErrorInvalidValue);
  *pointer = {nullptr, 0, extent.width, extent.height};
  return hipMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}
// Advice, which changes no value.
hipError_t hipMemPrefetchAsync(const void*, std::size_t, int device, hipStream_t) {
  return device == 0 || device == hipCpuDeviceId ? hipSuccess : rt::keep(hipErrorInvalidDevice);
}
hipError_t hipMemAdvise(const void*, std::size_t, hipMemoryAdvise, int device) {
  return device == 0 || device == hipCpuDeviceId ? hipSuccess : rt::keep(hipErrorInvalidDevice);
}

hipError_t hipCreateTextureObject(hipTextureObject_t*, const hipResourceDesc*,
                                  const hipTextureDesc*, const void*) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported,
                   "hipCreateTextureObject: gfx942 and gfx950 have no image instructions");
}
hipError_t hipDestroyTextureObject(hipTextureObject_t) {
  return rt::keep(hipErrorInvalidValue);  // none was made
}

// Memory that no call gave out is the host's, and not registered.
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  const rt::Turn turn;
  if (attributes == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto ranges = rt::runtime().memory.ranges();
  const auto* const range =
      mla::gfx::find_range(*ranges, reinterpret_cast<std::uint64_t>(pointer), 1);
  auto* const same = const_cast<void*>(pointer);
  *attributes = {};
  if (range == nullptr) return hipSuccess;
  const auto shared = rt::runtime().shared.find(reinterpret_cast<const void*>(range->base));
  const hipMemoryType type = shared != rt::runtime().shared.end() ? shared->second
                             : range->name == rt::registered      ? hipMemoryTypeHost
                                                                  : hipMemoryTypeDevice;
  *attributes = {type, 0, same, same, type == hipMemoryTypeManaged ? 1 : 0, 0};
  return hipSuccess;
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
