// Safetensors: a file of named tensors, read from bytes that are not trusted.
//
// Eight bytes with the length of a JSON header, the header with type, shape and place of each
// tensor and strings below `__metadata__`, then the data. Read are the integer types, BOOL, BF16,
// F16, F32, F64 and the 8-bit floats. Source: the format's description, huggingface/safetensors,
// README. Private to properties/cli. Fails: with the tensor and what is wrong with it.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "core/io/raw_array.hpp"
#include "core/result.hpp"

namespace mla::cli {

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, io::RawArray> arrays;
};

Result<Safetensors> read_safetensors(std::span<const std::byte> bytes);

}  // namespace mla::cli
