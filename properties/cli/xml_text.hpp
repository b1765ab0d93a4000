// Text in XML 1.0, which has no way to write most control characters: they become '?'.
#pragma once

#include <string>
#include <string_view>

#include "core/say.hpp"

namespace mla::cli {

// Escaped for text and attributes.
inline std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

inline std::string attribute(std::string_view name, std::string_view value) {
  return say(" ", name, "=\"", xml(value), "\"");
}

}  // namespace mla::cli
