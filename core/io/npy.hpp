// Npy: arrays of numbers in NumPy's file format, read from bytes that are not trusted.
//
// Versions 1 to 3, C order, little endian, integers and floats of 1 to 8 bytes and bool. Nothing is
// allocated before header and size agree with the number of bytes that are there.
// Source: NumPy, "NEP 1, a simple file format for NumPy arrays". Fails: with what is wrong where.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/io/raw_array.hpp"
#include "core/result.hpp"

namespace mla::io {

Result<RawArray> read_npy(std::span<const std::byte> bytes);

// Version 1. Bits are written as unsigned integers, since the format has no bf16.
std::vector<std::byte> write_npy(const RawArray& array);

}  // namespace mla::io
