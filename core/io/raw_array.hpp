// RawArray: an array as it lies in a file: element kind and width, shape, little-endian bytes in C
// order.
//
// `bytes` holds exactly as many elements as `shape` says. Fails: integers_of() names what is no
// integer, or an unsigned 64-bit value above the largest int64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace mla::io {

enum class ElementKind : std::uint8_t {
  signed_integer,
  unsigned_integer,
  floating,  // IEEE 754, of any width
  bits,      // bf16 or an 8-bit float, which files call by other names
};

struct RawArray {
  ElementKind kind = ElementKind::signed_integer;
  std::int64_t width = 4;           // bytes of an element
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::vector<std::byte> bytes;
  // What the file says that the bits are: BF16, F8_E4M3, F8_E4M3FNUZ, F8_E5M2 or BOOL; empty where
  // it says no more than `kind`.
  std::string_view encoding = {};
};

// The error of a file that holds no array of numbers.
Error no_array(const std::string& why);

// Elements that `bytes` bytes hold exactly in this shape and width, or why they do not. Nothing is
// multiplied that could wrap around.
Result<std::int64_t> element_count(std::span<const std::int64_t> shape, std::int64_t width,
                                   std::int64_t bytes);

Result<std::vector<std::int64_t>> integers_of(const RawArray& array);

// An array of one dimension.
RawArray raw_words(std::span<const std::int32_t> values);

}  // namespace mla::io
