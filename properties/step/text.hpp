// Numbers as the judge prints them. Private to properties.
#pragma once

#include <cstdio>
#include <string>

namespace mla::prop {

// Nine significant digits: enough to tell two floats apart.
inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// Three: for what is compared by eye, such as a ratio.
inline std::string short_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

}  // namespace mla::prop
