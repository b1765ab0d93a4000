// Pools of memory.
#include "hip_backend/hip_runtime/pool.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/memory.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

struct ihipMemPoolHandle_t {
  std::size_t most = mla::hip_runtime::most_memory;  // bytes
  std::size_t highest = 0;                           // bytes that were in use at once
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};
};

namespace mla::hip_runtime {
namespace {

struct Pools {
  std::vector<std::unique_ptr<ihipMemPoolHandle_t>> made;
  ihipMemPoolHandle_t of_device;
  hipMemPool_t current = &of_device;
};
Pools& pools() {
  static Pools all;
  return all;
}

bool exists(hipMemPool_t pool) {
  const auto is_it = [&](const auto& one) { return one.get() == pool; };
  return pool == &pools().of_device || std::any_of(pools().made.begin(), pools().made.end(), is_it);
}
hipError_t refuse(const char* call) {
  return fault(hipErrorInvalidValue, say(call, ": this is no pool, or it was destroyed"));
}
hipError_t one_process(const char* call) {
  return fault(hipErrorNotSupported, say(call, ": one process has the device"));
}

std::size_t used(hipMemPool_t pool) {
  std::size_t bytes = 0;
  for (const gfx::Range& range : *runtime().memory.ranges()) {
    const auto found = runtime().pooled.find(reinterpret_cast<const void*>(range.base));
    if (found != runtime().pooled.end() && found->second == pool) bytes += range.size;
  }
  return bytes;
}

bool is_device(const hipMemLocation& location) {
  return location.type == hipMemLocationTypeDevice && location.id == 0;
}

}  // namespace

hipMemPool_t device_pool() {
  return pools().current;
}

hipError_t allocate_from(hipMemPool_t pool, void** pointer, std::size_t bytes) {
  if (pointer == nullptr) return keep(hipErrorInvalidValue);
  if (bytes > pool->most - std::min(used(pool), pool->most)) return keep(hipErrorOutOfMemory);
  if (const auto bad = allocate(pointer, bytes)) return bad;
  if (*pointer == nullptr) return hipSuccess;
  runtime().pooled[*pointer] = pool;
  pool->highest = std::max(pool->highest, used(pool));
  return hipSuccess;
}

}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  const rt::Turn turn;
  if (pool == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  return *pool = &rt::pools().of_device, hipSuccess;
}
hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  const rt::Turn turn;
  if (pool == nullptr) return rt::keep(hipErrorInvalidValue);
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  return *pool = rt::device_pool(), hipSuccess;
}
hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  const rt::Turn turn;
  if (device != 0) return rt::keep(hipErrorInvalidDevice);
  if (!rt::exists(pool)) return rt::refuse("hipDeviceSetMemPool");
  return rt::pools().current = pool, hipSuccess;
}
hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  const rt::Turn turn;
  if (pool == nullptr || properties == nullptr ||
      properties->allocType != hipMemAllocationTypePinned || !rt::is_device(properties->location))
    return rt::keep(hipErrorInvalidValue);
  if (properties->handleTypes != hipMemHandleTypeNone) return rt::one_process("hipMemPoolCreate");
  auto made = std::make_unique<ihipMemPoolHandle_t>();
  if (properties->maxSize != 0) made->most = std::min(properties->maxSize, rt::most_memory);
  *pool = made.get();
  return rt::pools().made.push_back(std::move(made)), hipSuccess;
}
hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  const rt::Turn turn;
  if (pool == &rt::pools().of_device || !rt::exists(pool)) return rt::refuse("hipMemPoolDestroy");
  if (rt::pools().current == pool) rt::pools().current = &rt::pools().of_device;
  std::erase_if(rt::runtime().pooled, [&](const auto& one) { return one.second == pool; });
  std::erase_if(rt::pools().made, [&](const auto& one) { return one.get() == pool; });
  return hipSuccess;
}
hipError_t hipMallocFromPoolAsync(void** pointer, std::size_t bytes, hipMemPool_t pool,
                                  hipStream_t stream) {
  const rt::Turn turn;
  if (!rt::exists(pool)) return rt::refuse("hipMallocFromPoolAsync");
  if (rt::capture_of(stream))
    return rt::fault(hipErrorNotSupported,
                     "hipMallocFromPoolAsync: graphs have no nodes of memory here");
  return rt::allocate_from(pool, pointer, bytes);
}
// Nothing is kept back that could be given up.
hipError_t hipMemPoolTrimTo(hipMemPool_t pool, std::size_t) {
  const rt::Turn turn;
  return rt::exists(pool) ? hipSuccess : rt::refuse("hipMemPoolTrimTo");
}
// A high-water mark can only be set to 0, which makes it what is in use.
hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  const rt::Turn turn;
  if (!rt::exists(pool)) return rt::refuse("hipMemPoolSetAttribute");
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  if (attribute >= hipMemPoolReuseFollowEventDependencies &&
      attribute <= hipMemPoolReuseAllowInternalDependencies)
    return pool->reuse[attribute - 1] = *static_cast<int*>(value), hipSuccess;
  const std::uint64_t number = *static_cast<std::uint64_t*>(value);
  if (attribute == hipMemPoolAttrReleaseThreshold)
    return pool->release_threshold = number, hipSuccess;
  const bool mark =
      attribute == hipMemPoolAttrReservedMemHigh || attribute == hipMemPoolAttrUsedMemHigh;
  if (!mark || number != 0) return rt::keep(hipErrorInvalidValue);
  return pool->highest = rt::used(pool), hipSuccess;
}
hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, hipMemPoolAttr attribute, void* value) {
  const rt::Turn turn;
  if (!rt::exists(pool)) return rt::refuse("hipMemPoolGetAttribute");
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  auto& number = *static_cast<std::uint64_t*>(value);
  switch (attribute) {
    case hipMemPoolReuseFollowEventDependencies:
    case hipMemPoolReuseAllowOpportunistic:
    case hipMemPoolReuseAllowInternalDependencies:
      return *static_cast<int*>(value) = pool->reuse[attribute - 1], hipSuccess;
    case hipMemPoolAttrReleaseThreshold:
      return number = pool->release_threshold, hipSuccess;
    case hipMemPoolAttrReservedMemCurrent:
    case hipMemPoolAttrUsedMemCurrent:
      return number = rt::used(pool), hipSuccess;
    case hipMemPoolAttrReservedMemHigh:
    case hipMemPoolAttrUsedMemHigh:
      return number = pool->highest, hipSuccess;
  }
  return rt::keep(hipErrorInvalidValue);
}
// The device reads and writes its memory, and that cannot be taken from it.
hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* access,
                               std::size_t count) {
  const rt::Turn turn;
  if (!rt::exists(pool)) return rt::refuse("hipMemPoolSetAccess");
  if (access == nullptr || count == 0) return rt::keep(hipErrorInvalidValue);
  for (std::size_t k = 0; k < count; ++k)
    if (!rt::is_device(access[k].location) || access[k].flags != hipMemAccessFlagsProtReadWrite)
      return rt::keep(hipErrorInvalidValue);
  return hipSuccess;
}
hipError_t hipMemPoolGetAccess(hipMemAccessFlags* flags, hipMemPool_t pool,
                               hipMemLocation* location) {
  const rt::Turn turn;
  if (!rt::exists(pool)) return rt::refuse("hipMemPoolGetAccess");
  if (flags == nullptr || location == nullptr || !rt::is_device(*location))
    return rt::keep(hipErrorInvalidValue);
  return *flags = hipMemAccessFlagsProtReadWrite, hipSuccess;
}
hipError_t hipMemPoolExportToShareableHandle(void*, hipMemPool_t, hipMemAllocationHandleType,
                                             unsigned) {
  const rt::Turn turn;
  return rt::one_process("hipMemPoolExportToShareableHandle");
}
hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t*, void*, hipMemAllocationHandleType,
                                               unsigned) {
  const rt::Turn turn;
  return rt::one_process("hipMemPoolImportFromShareableHandle");
}
hipError_t hipMemPoolExportPointer(hipMemPoolPtrExportData*, void*) {
  const rt::Turn turn;
  return rt::one_process("hipMemPoolExportPointer");
}
hipError_t hipMemPoolImportPointer(void**, hipMemPool_t, hipMemPoolPtrExportData*) {
  const rt::Turn turn;
  return rt::one_process("hipMemPoolImportPointer");
}

}  // extern "C"
