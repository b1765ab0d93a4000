// Lists of words as text. Private to properties/fuzz. Fails: never.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mla::prop::fuzz {

using Words = std::vector<std::int32_t>;

inline std::string words_text(const char* name, const Words& words) {
  std::string out = std::string(" ") + name;
  for (const std::int32_t w : words) out += " " + std::to_string(w);
  return out;
}

}  // namespace mla::prop::fuzz
