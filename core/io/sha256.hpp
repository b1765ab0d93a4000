// SHA-256 over bytes, as `sha256sum` prints it: 64 hexadecimal digits.
//
// Source: FIPS 180-4.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace mla::io {

std::string sha256(std::span<const std::byte> bytes);

}  // namespace mla::io
