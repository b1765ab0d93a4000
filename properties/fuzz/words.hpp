// Lists of words as text. Private to properties/fuzz.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/say.hpp"

namespace mla::prop::fuzz {

using Words = std::vector<std::int32_t>;

inline std::string words_text(const char* name, const Words& words) {
  std::string out = say(" ", name);
  for (const std::int32_t w : words) out += say(" ", w);
  return out;
}

}  // namespace mla::prop::fuzz
