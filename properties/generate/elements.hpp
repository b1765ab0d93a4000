// The elements of Q and of the cache before they are rounded to their dtype.
//
// Every element is a pure function of the data spec and of where it belongs logically: tensor,
// request, row or position, head, dimension. Integer hashing and one multiplication only, so that
// every machine draws the same bits. Magnitudes stay below 32 for every distribution, so that no
// fp8 variant saturates at scale 1. `normal` gives attention scores with standard deviation 1.7 at
// the softmax scale of make_tensors(): neither flat nor one-hot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/arch.hpp"
#include "core/case/case.hpp"

namespace mla::prop {

enum class TensorId : std::uint8_t { query, key };

// Elements of a drawn row. A narrower one takes the first (tensors.cpp).
inline constexpr std::int64_t kDrawnDims = kMostKeyDims;

// A row of kDrawnDims elements: a query row of one head, or a cached key (head 0).
struct RowId {
  TensorId tensor = TensorId::query;
  std::int64_t request = 0;   // kSharedRequest for a key of a shared prefix
  std::int64_t position = 0;  // row of the request, or position of the key
  std::int64_t head = 0;
};
inline constexpr std::int64_t kSharedRequest = -1;

// Largest magnitude that any distribution gives.
inline constexpr float kLargestElement = 32.0F;

void element_row(const DataSpec& data, const RowId& id,
                 std::span<float, static_cast<std::size_t>(kDrawnDims)> values);

// What the elements become: value / scale in `dtype`, rounded to nearest even.
struct RowFormat {
  Dtype dtype = Dtype::bf16;
  Fp8Variant variant = Fp8Variant::e4m3fn;
  float scale = 1.0F;  // 1 for bf16
};
// The same row as bits: kDrawnDims elements of format.dtype.
void encoded_row(const DataSpec& data, const RowId& id, const RowFormat& format, std::byte* out);

// The two as implemented for each instruction set that this machine has; the first is used. All of
// them give the same bits.
struct RowFunctions {
  const char* name;
  void (*fill)(const DataSpec&, const RowId&,
               std::span<float, static_cast<std::size_t>(kDrawnDims)> values);
  void (*encode)(const DataSpec&, const RowId&, const RowFormat&, std::byte* out);
};
std::span<const RowFunctions> row_functions();

}  // namespace mla::prop
