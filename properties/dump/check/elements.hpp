// What the elements of a dumped tensor must be: Q and cache in the dtypes of the call, output and
// LSE in bf16 and f32. Files may say bits as unsigned integers.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/arch.hpp"
#include "core/io/raw_array.hpp"
#include "core/result.hpp"

namespace mla::dump {

// Bits that a file may call by their encoding, or IEEE floats.
struct ElementType {
  std::int64_t width = 0;          // in bytes
  std::string_view encoding = {};  // empty: IEEE floats
};
inline constexpr ElementType kBf16Elements = {2, "BF16"};
inline constexpr ElementType kFloatElements = {4};

ElementType element_type(Dtype dtype, Arch arch);

// The error names `key`, and what its elements are.
MaybeError check_elements(const char* key, const io::RawArray& array, const ElementType& type);

}  // namespace mla::dump
