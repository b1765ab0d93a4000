// Tensors of a caller, looked at before anything reads them.
//
// Owns: the checks that a GPU does not make: a descriptor that contradicts itself, element type,
// dimensions, contiguity, alignment, host or device. Private to properties/c_api. Fails: with
// MLA_BAD_TENSOR and a sentence that names the parameter, what was expected and what was found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_backend/calls/element.hpp"
#include "properties/c_api/border.hpp"

namespace mla::c_api {

enum class Place : std::uint8_t { device, host };

// Element types by value: a std::initializer_list would not outlive the expression that made it.
class DtypeList {
 public:
  DtypeList(std::initializer_list<mla_dtype> dtypes) {
    for (const mla_dtype dtype : dtypes) values_.at(count_++) = dtype;
  }
  [[nodiscard]] const mla_dtype* begin() const { return values_.data(); }
  [[nodiscard]] const mla_dtype* end() const { return values_.data() + count_; }

 private:
  std::array<mla_dtype, 4> values_{};
  std::size_t count_ = 0;
};

// What a parameter takes. An extent of kAny is not compared.
inline constexpr std::int64_t kAny = -1;
struct Wanted {
  const char* name;
  Place place = Place::device;
  DtypeList dtypes;
  std::vector<std::int64_t> shape = {};  // empty: every shape
  bool contiguous = true;                // false: the caller walks the strides
};

std::string_view dtype_name(int dtype);
std::size_t dtype_bytes(int dtype);
// Of one of bf16, fp16 and fp32, which the caller has checked.
cpu::SourceType source_type(int dtype);
std::string shape_text(std::span<const std::int64_t> shape);

// Nothing if the tensor is what the parameter takes. NULL is no tensor.
std::optional<Failure> check_tensor(const aiter_tensor_t* tensor, const Wanted& wanted);

Failure bad_tensor(const char* name, const std::string& expected, const std::string& found);

// The elements of a checked, contiguous tensor.
template <class T>
std::span<T> elements(const aiter_tensor_t& tensor) {
  return {static_cast<T*>(tensor.ptr), tensor.numel};
}

// Elements from the first one to the last one that the strides reach, plus one.
std::size_t extent_elements(const aiter_tensor_t& tensor);

}  // namespace mla::c_api
