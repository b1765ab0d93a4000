// Owns: arrays, whose memory no kernel may touch, and places in them. Private to hip_runtime.
#pragma once

#include <cstddef>

#include "hip_backend/hip_runtime/hip/hip_runtime.h"
#include "hip_backend/hip_runtime/place.hpp"

// What a handle is, until it is freed.
struct hipArray {
  hipChannelFormatDesc element;
  std::size_t element_bytes = 0;
  hipExtent extent;    // elements, as it was asked for: 0 rows or slices are one
  unsigned flags = 0;  // of the call that made it
  mla::hip_runtime::Place place;

  [[nodiscard]] std::size_t row_bytes() const { return extent.width * element_bytes; }
  [[nodiscard]] std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
  [[nodiscard]] std::size_t slices() const { return extent.depth == 0 ? 1 : extent.depth; }
};

namespace mla::hip_runtime {

const hipArray* array_of(const char* call, hipArray_const_t handle);  // null after a fault
// The place of a box in an array: `at` in bytes, rows and slices. Fails: a fault that names the
// call, where the box is not all in the array.
hipError_t place_in(const char* call, hipArray_const_t handle, const hipPos& at,
                    const Extent& extent, Place& place);
// After hipDeviceReset().
void forget_arrays();

}  // namespace mla::hip_runtime
