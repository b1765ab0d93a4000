// Npy: arrays of integers in NumPy's file format, read from bytes that nobody vouches for.
//
// Versions 1 to 3, C order, little endian, signed and unsigned integers of 1 to 8 bytes and bool.
// Nothing is allocated before header and size agree with the number of bytes that are there.
// Source: NumPy, "NEP 1, a simple file format for NumPy arrays". Fails: with what is wrong where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace mla::io {

struct NpyArray {
  std::string descr;                // "<i4"
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::vector<std::int64_t> values;
};

// A value of an unsigned 64-bit array above the largest int64 is an error.
Result<NpyArray> read_npy(std::span<const std::byte> bytes);

// Version 1, little endian, of 4-byte integers.
std::vector<std::byte> write_npy(std::span<const std::int32_t> values);

}  // namespace mla::io
