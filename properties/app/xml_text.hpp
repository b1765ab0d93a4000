// Text in XML 1.0, which has no way to write most control characters: they become '?'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/say.hpp"

namespace mla::app {

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

// A JUnit report with one test suite, whose test cases are `cases`.
inline std::string junit_document(std::string_view suite, std::int64_t tests, std::int64_t failures,
                                  std::int64_t errors, const std::string& cases) {
  return say("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite",
             attribute("name", suite), attribute("tests", std::to_string(tests)),
             attribute("failures", std::to_string(failures)),
             attribute("errors", std::to_string(errors)), ">\n", cases,
             "  </testsuite>\n</testsuites>\n");
}

}  // namespace mla::app
