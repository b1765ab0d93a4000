// Owns: where the bytes of a copy or a fill are. Private to hip_runtime.
#pragma once

#include <cstddef>

namespace mla::hip_runtime {

// Rows of bytes, in slices.
struct Place {
  void* base = nullptr;
  std::size_t pitch = 0, slice = 0;  // bytes from row to row, and from slice to slice
};
struct Extent {
  std::size_t width = 0;  // bytes
  std::size_t height = 1, depth = 1;
  [[nodiscard]] bool empty() const { return width == 0 || height == 0 || depth == 0; }
  // From the first byte to the last one, in a place.
  [[nodiscard]] std::size_t span(const Place& place) const {
    return (depth - 1) * place.slice + (height - 1) * place.pitch + width;
  }
};

}  // namespace mla::hip_runtime
