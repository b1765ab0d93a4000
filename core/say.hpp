// say: one string of text and numbers, as messages need them.
//
// A text stands as it is, a number as std::to_string writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace mla {

template <class... Parts>
[[nodiscard]] std::string say(const Parts&... parts) {
  std::string out;
  const auto add = [&out](const auto& part) {
    using Part = std::decay_t<decltype(part)>;
    if constexpr (std::is_convertible_v<const Part&, std::string_view>)
      out += std::string_view(part);
    else if constexpr (std::is_same_v<Part, char>)
      out += part;
    else
      out += std::to_string(part);
  };
  (add(parts), ...);
  return out;
}

// The number, to be added to a string.
[[nodiscard]] inline std::string num(std::int64_t n) {
  return std::to_string(n);
}

// "4..8", half open, as tables have it.
[[nodiscard]] inline std::string from_to(std::int64_t begin, std::int64_t end) {
  return say(begin, "..", end);
}

// "[4, 8)", as sentences have it.
[[nodiscard]] inline std::string range(std::int64_t begin, std::int64_t end) {
  return say("[", begin, ", ", end, ")");
}

}  // namespace mla
