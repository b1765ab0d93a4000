// Advice and prefetches: they change no value, and are given back as they were said.
#include <cstring>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/memory.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

bool is_place(int device) {
  return device == 0 || device == hipCpuDeviceId;
}

// Of the range that has the byte; null if there is none.
Advice* advice_of(const void* pointer) {
  const auto range = range_of(pointer);
  if (!range) return nullptr;
  return &runtime().advice[reinterpret_cast<const void*>(range->base)];
}

hipError_t apply(Advice& advice, hipMemoryAdvise what, int device) {
  switch (what) {
    case hipMemAdviseSetReadMostly:
    case hipMemAdviseUnsetReadMostly:
      return advice.read_mostly = what == hipMemAdviseSetReadMostly, hipSuccess;
    case hipMemAdviseSetPreferredLocation:
      return advice.preferred = device, hipSuccess;
    case hipMemAdviseUnsetPreferredLocation:
      return advice.preferred = hipInvalidDeviceId, hipSuccess;
    case hipMemAdviseSetAccessedBy:
      return advice.accessed_by.insert(device), hipSuccess;
    case hipMemAdviseUnsetAccessedBy:
      return advice.accessed_by.erase(device), hipSuccess;
    case hipMemAdviseSetCoarseGrain:
    case hipMemAdviseUnsetCoarseGrain:
      return advice.coarse = what == hipMemAdviseSetCoarseGrain, hipSuccess;
  }
  return keep(hipErrorInvalidValue);
}

// As many of `accessed_by` as fit; hipInvalidDeviceId after them.
void give_list(const std::set<int>& places, int* out, std::size_t count) {
  auto place = places.begin();
  for (std::size_t k = 0; k < count; ++k)
    out[k] = place == places.end() ? hipInvalidDeviceId : *place++;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipMemPrefetchAsync(const void* pointer, std::size_t, int device, hipStream_t) {
  const rt::Turn turn;
  if (!rt::is_place(device)) return rt::keep(hipErrorInvalidDevice);
  if (auto* const advice = rt::advice_of(pointer)) advice->prefetched = device;
  return hipSuccess;
}
hipError_t hipMemAdvise(const void* pointer, std::size_t, hipMemoryAdvise what, int device) {
  const rt::Turn turn;
  if (!rt::is_place(device)) return rt::keep(hipErrorInvalidDevice);
  rt::Advice unknown;
  auto* const advice = rt::advice_of(pointer);
  return rt::apply(advice == nullptr ? unknown : *advice, what, device);
}
hipError_t hipMemRangeGetAttribute(void* value, std::size_t value_bytes,
                                   hipMemRangeAttribute attribute, const void* pointer,
                                   std::size_t bytes) {
  const rt::Turn turn;
  if (value == nullptr || bytes == 0 || value_bytes == 0 || value_bytes % sizeof(int) != 0 ||
      rt::side_of(pointer, bytes) != rt::Side::device)
    return rt::keep(hipErrorInvalidValue);
  const auto* const advice = rt::advice_of(pointer);
  if (advice == nullptr) return rt::keep(hipErrorInvalidValue);
  auto* const out = static_cast<int*>(value);
  if (attribute == hipMemRangeAttributeAccessedBy)
    return rt::give_list(advice->accessed_by, out, value_bytes / sizeof(int)), hipSuccess;
  if (value_bytes != sizeof(int)) return rt::keep(hipErrorInvalidValue);
  switch (attribute) {
    case hipMemRangeAttributeReadMostly:
      return *out = advice->read_mostly ? 1 : 0, hipSuccess;
    case hipMemRangeAttributePreferredLocation:
      return *out = advice->preferred, hipSuccess;
    case hipMemRangeAttributeLastPrefetchLocation:
      return *out = advice->prefetched, hipSuccess;
    case hipMemRangeAttributeCoherencyMode:
      return *out = advice->coarse ? hipMemRangeCoherencyModeCoarseGrain
                                   : hipMemRangeCoherencyModeFineGrain,
             hipSuccess;
    default:
      return rt::keep(hipErrorInvalidValue);
  }
}
hipError_t hipMemRangeGetAttributes(void** values, std::size_t* value_bytes,
                                    hipMemRangeAttribute* attributes, std::size_t count,
                                    const void* pointer, std::size_t bytes) {
  const rt::Turn turn;
  if (values == nullptr || value_bytes == nullptr || attributes == nullptr || count == 0)
    return rt::keep(hipErrorInvalidValue);
  for (std::size_t k = 0; k < count; ++k)
    if (const auto bad =
            hipMemRangeGetAttribute(values[k], value_bytes[k], attributes[k], pointer, bytes))
      return bad;
  return hipSuccess;
}
// Whichever stream managed memory is attached to, it is all the host's between two calls.
hipError_t hipStreamAttachMemAsync(hipStream_t, void* pointer, std::size_t bytes, unsigned flags) {
  const rt::Turn turn;
  const auto range = rt::range_of(pointer);
  const bool known =
      flags == hipMemAttachGlobal || flags == hipMemAttachHost || flags == hipMemAttachSingle;
  if (!range || !known || rt::side_of(pointer, bytes) != rt::Side::device)
    return rt::keep(hipErrorInvalidValue);
  const auto shared = rt::runtime().shared.find(reinterpret_cast<const void*>(range->base));
  const bool managed =
      shared != rt::runtime().shared.end() && shared->second.type == hipMemoryTypeManaged;
  return managed ? hipSuccess : rt::keep(hipErrorInvalidValue);
}

}  // extern "C"
