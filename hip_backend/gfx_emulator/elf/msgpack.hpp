// Owns: reading the MessagePack note of a code object: maps, arrays, text and integers.
//
// Anything else (floats, binary, extensions) is an empty document; a truncated note, and a map with
// a key that is no text, is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifetime.hpp"
#include "core/result.hpp"

namespace mla::gfx {

struct Document {
  std::string text;               // strings
  std::int64_t number = 0;        // integers and booleans
  std::vector<std::string> keys;  // maps: the key of each item
  std::vector<Document> items;    // arrays and maps
  [[nodiscard]] const Document* find(std::string_view key) const MLA_LIFETIME_BOUND;
  [[nodiscard]] std::int64_t number_of(std::string_view key) const;  // 0 where absent
  [[nodiscard]] std::string text_of(std::string_view key) const;
};

[[nodiscard]] Result<Document> parse_msgpack(std::span<const std::byte> bytes);

}  // namespace mla::gfx
