// Arrays: memory that copies fill and read, and no kernel here, since there are no textures; and
// copies that a structure describes. Included by hip_runtime.h.
#pragma once

#include <type_traits>

#include "array_types.h"
#include "hip_vector_types.h"

#pragma GCC visibility push(default)
extern "C" {
// Sizes in elements. A height of 0: one row; a depth of 0: one slice.
hipError_t hipMallocArray(hipArray_t* array, const hipChannelFormatDesc* element, std::size_t width,
                          std::size_t height = 0, unsigned flags = hipArrayDefault);
hipError_t hipMalloc3DArray(hipArray_t* array, const hipChannelFormatDesc* element,
                            hipExtent extent, unsigned flags);
hipError_t hipFreeArray(hipArray_t array);
hipError_t hipArrayCreate(hipArray_t* array, const HIP_ARRAY_DESCRIPTOR* wanted);
hipError_t hipArray3DCreate(hipArray_t* array, const HIP_ARRAY3D_DESCRIPTOR* wanted);
hipError_t hipArrayDestroy(hipArray_t array);
hipError_t hipArrayGetInfo(hipChannelFormatDesc* element, hipExtent* extent, unsigned* flags,
                           hipArray_t array);
hipError_t hipArrayGetDescriptor(HIP_ARRAY_DESCRIPTOR* descriptor, hipArray_t array);
hipError_t hipArray3DGetDescriptor(HIP_ARRAY3D_DESCRIPTOR* descriptor, hipArray_t array);
hipError_t hipGetChannelDesc(hipChannelFormatDesc* element, hipArray_const_t array);
hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind);

// Offsets and widths in bytes, but for rows.
hipError_t hipMemcpy2DToArray(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                              std::size_t pitch, std::size_t width, std::size_t height,
                              hipMemcpyKind kind);
hipError_t hipMemcpy2DToArrayAsync(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                                   std::size_t pitch, std::size_t width, std::size_t height,
                                   hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemcpy2DFromArray(void* to, std::size_t pitch, hipArray_const_t from, std::size_t x,
                                std::size_t y, std::size_t width, std::size_t height,
                                hipMemcpyKind kind);
hipError_t hipMemcpy2DFromArrayAsync(void* to, std::size_t pitch, hipArray_const_t from,
                                     std::size_t x, std::size_t y, std::size_t width,
                                     std::size_t height, hipMemcpyKind kind,
                                     hipStream_t stream = nullptr);
hipError_t hipMemcpy2DArrayToArray(hipArray_t to, std::size_t to_x, std::size_t to_y,
                                   hipArray_const_t from, std::size_t from_x, std::size_t from_y,
                                   std::size_t width, std::size_t height, hipMemcpyKind kind);
// Bytes one after the other, from row to row.
hipError_t hipMemcpyToArray(hipArray_t to, std::size_t x, std::size_t y, const void* from,
                            std::size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyFromArray(void* to, hipArray_const_t from, std::size_t x, std::size_t y,
                              std::size_t bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAtoH(void* to, hipArray_t from, std::size_t offset, std::size_t bytes);
hipError_t hipMemcpyHtoA(hipArray_t to, std::size_t offset, const void* from, std::size_t bytes);

hipError_t hipMemcpyParam2D(const hip_Memcpy2D* copy);
hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* copy, hipStream_t stream = nullptr);
hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* copy);
hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D* copy);
hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D* copy, hipStream_t stream);
}
#pragma GCC visibility pop

namespace mla_hip {
template <class T>
constexpr hipChannelFormatKind channel_kind =
    std::is_floating_point_v<T> ? hipChannelFormatKindFloat
    : std::is_signed_v<T>       ? hipChannelFormatKindSigned
                                : hipChannelFormatKindUnsigned;
template <class T>
struct Channels {
  static_assert(std::is_arithmetic_v<T>, "an element of an array is a number or a vector of them");
  static constexpr int count = 1, bits = 8 * sizeof(T);
  static constexpr hipChannelFormatKind kind = channel_kind<T>;
};
template <class T, unsigned n>
struct Channels<HIP_vector_type<T, n>> : Channels<T> {
  static constexpr int count = n;
};
}  // namespace mla_hip
template <class T>
hipChannelFormatDesc hipCreateChannelDesc() {
  using C = mla_hip::Channels<T>;
  return {C::bits, C::count > 1 ? C::bits : 0, C::count > 2 ? C::bits : 0,
          C::count > 3 ? C::bits : 0, C::kind};
}
