// Memory that programs are given, and give back.
#include "hip_backend/hip_runtime/array.hpp"
#include "hip_backend/hip_runtime/memory.hpp"
#include "hip_backend/hip_runtime/order.hpp"
#include "hip_backend/hip_runtime/pool.hpp"
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
  return rt::allocate_from(rt::device_pool(), pointer, bytes);
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
  return rt::allocate(pointer, bytes, {hipMemoryTypeHost, flags});
}
hipError_t hipMallocManaged(void** pointer, std::size_t bytes, unsigned flags) {
  const rt::Turn turn;
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return rt::keep(hipErrorInvalidValue);
  return rt::allocate(pointer, bytes, {hipMemoryTypeManaged, flags});
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
      (void)rt::forget(reinterpret_cast<const void*>(range.base), range.name);
  rt::forget_arrays();
  rt::order().host_waits_for_all();
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
  if (overlap) return rt::keep(hipErrorHostMemoryAlreadyRegistered);
  return rt::runtime().shared[pointer] = {hipMemoryTypeHost, flags}, hipSuccess;
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

// All memory is fine-grained here, whatever the flag asks for.
hipError_t hipExtMallocWithFlags(void** pointer, std::size_t bytes, unsigned flags) {
  if (flags > hipDeviceMallocContiguous) return rt::keep(hipErrorInvalidValue);
  return hipMalloc(pointer, bytes);
}
hipError_t hipHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
hipError_t hipMallocHost(void** pointer, std::size_t bytes) {
  return hipHostMalloc(pointer, bytes, hipHostMallocDefault);
}
hipError_t hipMemAllocHost(void** pointer, std::size_t bytes) {
  return hipMallocHost(pointer, bytes);
}
hipError_t hipMemAllocPitch(hipDeviceptr_t* pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned element_bytes) {
  if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16)
    return rt::keep(hipErrorInvalidValue);
  return hipMallocPitch(pointer, pitch, width, height);
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
hipError_t hipCreateTextureObject(hipTextureObject_t*, const hipResourceDesc*,
                                  const hipTextureDesc*, const void*) {
  const rt::Turn turn;
  return rt::fault(hipErrorNotSupported,
                   "hipCreateTextureObject: gfx942 and gfx950 have no image instructions");
}
hipError_t hipDestroyTextureObject(hipTextureObject_t) {
  return rt::keep(hipErrorInvalidValue);  // none was made
}

}  // extern "C"
