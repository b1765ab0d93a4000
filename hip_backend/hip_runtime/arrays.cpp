// Arrays: memory in rows and slices that copies fill and read.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/array.hpp"
#include "hip_backend/hip_runtime/memory.hpp"
#include "hip_backend/hip_runtime/stream.hpp"

namespace rt = mla::hip_runtime;

namespace mla::hip_runtime {
namespace {

std::vector<std::unique_ptr<hipArray>>& arrays() {
  static std::vector<std::unique_ptr<hipArray>> all;
  return all;
}

// Bytes of an element; 0 of what is none: each channel has the bits of the first one, or none.
std::size_t element_bytes(const hipChannelFormatDesc& element) {
  const std::array<int, 4> channels = {element.x, element.y, element.z, element.w};
  const auto count =
      static_cast<std::size_t>(std::find(channels.begin(), channels.end(), 0) - channels.begin());
  const bool same = std::all_of(channels.begin(), channels.begin() + static_cast<long>(count),
                                [&](int bits) { return bits == element.x; });
  const bool none_after = std::all_of(channels.begin() + static_cast<long>(count), channels.end(),
                                      [](int bits) { return bits == 0; });
  const bool width = element.x == 8 || element.x == 16 || element.x == 32;
  const bool kind = element.f == hipChannelFormatKindSigned ||
                    element.f == hipChannelFormatKindUnsigned ||
                    (element.f == hipChannelFormatKindFloat && element.x != 8);
  if (count == 0 || count == 3 || !same || !none_after || !width || !kind) return 0;
  return count * static_cast<std::size_t>(element.x) / 8;
}

hipError_t make(const char* call, hipArray_t* out, const hipChannelFormatDesc& element,
                hipExtent extent, unsigned flags) {
  if (out == nullptr || extent.width == 0) return keep(hipErrorInvalidValue);
  if ((flags & ~unsigned{hipArraySurfaceLoadStore}) != 0)
    return fault(hipErrorNotSupported,
                 say(call, ": flags are ", flags, "; layers, cubes and gathers are of textures, ",
                     "which the emulated device does not have"));
  const std::size_t bytes = element_bytes(element);
  if (bytes == 0)
    return fault(hipErrorInvalidChannelDescriptor,
                 say(call, ": elements of ", element.x, ", ", element.y, ", ", element.z, " and ",
                     element.w, " bits; expected 1, 2 or 4 of 8, 16 or 32"));
  auto made = std::make_unique<hipArray>();
  made->element = element;
  made->element_bytes = bytes;
  made->extent = extent;
  made->flags = flags;
  if (extent.width > most_memory / bytes || made->rows() > most_memory ||
      made->slices() > most_memory / made->rows())
    return keep(hipErrorOutOfMemory);
  void* memory = nullptr;
  std::size_t pitch = 0;
  if (const auto bad =
          hipMallocPitch(&memory, &pitch, made->row_bytes(), made->rows() * made->slices()))
    return bad;
  made->place = {memory, pitch, pitch * made->rows()};
  *out = made.get();
  return arrays().push_back(std::move(made)), hipSuccess;
}

hipError_t release_array(const char* call, hipArray_t handle) {
  const hipArray* const array = array_of(call, handle);
  if (array == nullptr) return last_error();
  const hipError_t error = release(array->place.base);
  std::erase_if(arrays(), [&](const auto& one) { return one.get() == array; });
  return error;
}

struct Format {
  hipArray_Format format;
  int bits;
  hipChannelFormatKind kind;
};
constexpr Format formats[] = {
    {HIP_AD_FORMAT_UNSIGNED_INT8, 8, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_UNSIGNED_INT16, 16, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_UNSIGNED_INT32, 32, hipChannelFormatKindUnsigned},
    {HIP_AD_FORMAT_SIGNED_INT8, 8, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_SIGNED_INT16, 16, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_SIGNED_INT32, 32, hipChannelFormatKindSigned},
    {HIP_AD_FORMAT_HALF, 16, hipChannelFormatKindFloat},
    {HIP_AD_FORMAT_FLOAT, 32, hipChannelFormatKindFloat},
};
// Not known formats and numbers of channels have no bits, which make() refuses.
hipChannelFormatDesc element_of(hipArray_Format format, unsigned channels) {
  for (const Format& one : formats) {
    if (one.format != format || channels == 0 || channels > 4) continue;
    const auto bits = [&](unsigned k) { return k < channels ? one.bits : 0; };
    return {bits(0), bits(1), bits(2), bits(3), one.kind};
  }
  return {0, 0, 0, 0, hipChannelFormatKindNone};
}

}  // namespace

const hipArray* array_of(const char* call, hipArray_const_t handle) {
  for (const auto& array : arrays())
    if (array.get() == handle) return array.get();
  fault(hipErrorInvalidHandle, say(call, ": this is no array, or it was freed"));
  return nullptr;
}

hipError_t place_in(const char* call, hipArray_const_t handle, const hipPos& at,
                    const Extent& extent, Place& place) {
  const hipArray* const array = array_of(call, handle);
  if (array == nullptr) return last_error();
  const auto fits = [](std::size_t from, std::size_t count, std::size_t size) {
    return from <= size && count <= size - from;
  };
  if (!fits(at.x, extent.width, array->row_bytes()) || !fits(at.y, extent.height, array->rows()) ||
      !fits(at.z, extent.depth, array->slices()))
    return fault(hipErrorInvalidValue,
                 say(call, ": ", extent.width, " bytes, ", extent.height, " rows and ",
                     extent.depth, " slices from (", at.x, ", ", at.y, ", ", at.z,
                     ") on reach past an array of ", array->row_bytes(), " bytes, ", array->rows(),
                     " rows and ", array->slices(), " slices"));
  place = array->place;
  place.base = static_cast<std::byte*>(place.base) + at.z * place.slice + at.y * place.pitch + at.x;
  return hipSuccess;
}

void forget_arrays() {
  arrays().clear();
}

}  // namespace mla::hip_runtime

extern "C" {

hipError_t hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* element, std::size_t width,
                          std::size_t height, unsigned flags) {
  const rt::Turn turn;
  if (element == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::make("hipMallocArray", array, *element, {width, height, 0}, flags);
}
hipError_t hipMalloc3DArray(hipArray_t* array, const hipChannelFormatDesc* element,
                            hipExtent extent, unsigned flags) {
  const rt::Turn turn;
  if (element == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::make("hipMalloc3DArray", array, *element, extent, flags);
}
hipError_t hipFreeArray(hipArray_t array) {
  const rt::Turn turn;
  if (array == nullptr) return hipSuccess;
  return rt::release_array("hipFreeArray", array);
}
hipError_t hipArrayCreate(hipArray_t* array, const HIP_ARRAY_DESCRIPTOR* wanted) {
  const rt::Turn turn;
  if (wanted == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::make("hipArrayCreate", array, rt::element_of(wanted->Format, wanted->NumChannels),
                  {wanted->Width, wanted->Height, 0}, hipArrayDefault);
}
hipError_t hipArray3DCreate(hipArray_t* array, const HIP_ARRAY3D_DESCRIPTOR* wanted) {
  const rt::Turn turn;
  if (wanted == nullptr) return rt::keep(hipErrorInvalidValue);
  return rt::make("hipArray3DCreate", array, rt::element_of(wanted->Format, wanted->NumChannels),
                  {wanted->Width, wanted->Height, wanted->Depth}, wanted->Flags);
}
hipError_t hipArrayDestroy(hipArray_t array) {
  const rt::Turn turn;
  return rt::release_array("hipArrayDestroy", array);
}
hipError_t hipArrayGetInfo(hipChannelFormatDesc* element, hipExtent* extent, unsigned* flags,
                           hipArray_t handle) {
  const rt::Turn turn;
  const hipArray* const array = rt::array_of("hipArrayGetInfo", handle);
  if (array == nullptr) return rt::last_error();
  if (element != nullptr) *element = array->element;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return hipSuccess;
}
hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR* descriptor, hipArray_t handle) {
  const rt::Turn turn;
  if (descriptor == nullptr) return rt::keep(hipErrorInvalidValue);
  const hipArray* const array = rt::array_of("hipArrayGetDescriptor", handle);
  if (array == nullptr) return rt::last_error();
  for (const rt::Format& one : rt::formats) {
    if (one.bits != array->element.x || one.kind != array->element.f) continue;
    const auto channels =
        static_cast<unsigned>(array->element_bytes * 8) / static_cast<unsigned>(array->element.x);
    *descriptor = {
        array->extent.width, array->extent.height, array->extent.depth, one.format, channels,
        array->flags};
  }
  return hipSuccess;
}
hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR* descriptor, hipArray_t handle) {
  if (descriptor == nullptr) return rt::keep(hipErrorInvalidValue);
  HIP_ARRAY3D_DESCRIPTOR all = {};
  if (const auto bad = hipArray3DGetDescriptor(&all, handle)) return bad;
  return *descriptor = {all.Width, all.Height, all.Format, all.NumChannels}, hipSuccess;
}
hipError_t hipGetChannelDesc(hipChannelFormatDesc* element, hipArray_const_t handle) {
  const rt::Turn turn;
  if (element == nullptr) return rt::keep(hipErrorInvalidValue);
  const hipArray* const array = rt::array_of("hipGetChannelDesc", handle);
  if (array == nullptr) return rt::last_error();
  return *element = array->element, hipSuccess;
}
hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

}  // extern "C"
