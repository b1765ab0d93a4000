// What is known of a pointer.
#include "core/say.hpp"
#include "hip_backend/hip_runtime/memory.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

void* base_of(const gfx::Range& range) {
  return reinterpret_cast<void*>(range.base);
}

hipMemoryType type_of(const gfx::Range& range) {
  const auto shared = runtime().shared.find(base_of(range));
  return shared == runtime().shared.end() ? hipMemoryTypeDevice : shared->second.type;
}

template <class T>
hipError_t give(void* value, T what) {
  return *static_cast<T*>(value) = what, hipSuccess;
}

}  // namespace
}  // namespace mla::hip_runtime

extern "C" {

// Memory that no call gave out is the host's, and not registered.
hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* pointer) {
  const rt::Turn turn;
  if (attributes == nullptr) return rt::keep(hipErrorInvalidValue);
  *attributes = {};
  const auto range = rt::range_of(pointer);
  if (!range) return hipSuccess;
  const hipMemoryType type = rt::type_of(*range);
  auto* const same = const_cast<void*>(pointer);
  *attributes = {type, 0, same, same, type == hipMemoryTypeManaged ? 1 : 0, 0};
  const auto shared = rt::runtime().shared.find(rt::base_of(*range));
  if (shared != rt::runtime().shared.end()) attributes->allocationFlags = shared->second.flags;
  return hipSuccess;
}
hipError_t hipPointerGetAttribute(void* value, hipPointer_attribute attribute,
                                  hipDeviceptr_t pointer) {
  const rt::Turn turn;
  if (value == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto range = rt::range_of(pointer);
  if (!range) return rt::keep(hipErrorInvalidValue);
  const hipMemoryType type = rt::type_of(*range);
  switch (attribute) {
    case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return rt::give(value, type);
    case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
      return rt::give(value, pointer);
    case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
      return rt::give(value, type == hipMemoryTypeManaged);
    case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return rt::give(value, 0);
    case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return rt::give(value, rt::base_of(*range));
    case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
      return rt::give(value, std::size_t{range->size});
    case HIP_POINTER_ATTRIBUTE_MAPPED:
      return rt::give(value, true);
    default:
      return rt::fault(hipErrorNotSupported,
                       mla::say("hipPointerGetAttribute: attribute ", static_cast<int>(attribute),
                                " has no answer on the emulated device"));
  }
}
hipError_t hipHostGetFlags(unsigned* flags, void* pointer) {
  const rt::Turn turn;
  if (flags == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto range = rt::range_of(pointer);
  if (!range || rt::type_of(*range) != hipMemoryTypeHost) return rt::keep(hipErrorInvalidValue);
  return *flags = rt::runtime().shared.at(rt::base_of(*range)).flags, hipSuccess;
}
hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, std::size_t* bytes, hipDeviceptr_t pointer) {
  const rt::Turn turn;
  const auto range = rt::range_of(pointer);
  if (!range) return rt::keep(hipErrorInvalidValue);
  if (base != nullptr) *base = rt::base_of(*range);
  if (bytes != nullptr) *bytes = range->size;
  return hipSuccess;
}
hipError_t hipMemPtrGetInfo(void* pointer, std::size_t* bytes) {
  const rt::Turn turn;
  if (bytes == nullptr) return rt::keep(hipErrorInvalidValue);
  const auto range = rt::range_of(pointer);
  if (!range || rt::base_of(*range) != pointer) return rt::keep(hipErrorInvalidValue);
  return *bytes = range->size, hipSuccess;
}

}  // extern "C"
