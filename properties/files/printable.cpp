#include "properties/files/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "core/say.hpp"

namespace mla::files {
namespace {

// Bytes of the UTF-8 character that the text begins with; 0 if it is none, or not to be shown.
std::size_t printable_prefix(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t point = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) return 0;
    point = point << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  const auto within = [point](std::uint32_t a, std::uint32_t z) {
    return a <= point && point <= z;
  };
  const bool hidden =
      within(0, 0x9F) || within(0x200E, 0x200F) || within(0x2028, 0x202E) || within(0x2066, 0x2069);
  return hidden ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = printable_prefix(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      std::array<char, 5> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<unsigned char>(text[0]));
      out += escape.data();
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string printable_message(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  constexpr std::size_t kEnd = 40;  // of a word, as with the quote and colon after a value
  const std::string shown = printable(text);
  const auto begins_character = [&shown](std::size_t at) {
    return (static_cast<unsigned char>(shown[at]) & 0xC0U) != 0x80U;
  };
  std::string out;
  for (std::size_t begin = 0; begin < shown.size();) {
    const std::size_t end = std::min(shown.find(' ', begin), shown.size());
    std::size_t head = end;
    std::size_t tail = end;
    if (end - begin > kLongest) {
      head = begin + kLongest - kEnd;
      tail = end - kEnd;
      while (!begins_character(head)) --head;
      while (!begins_character(tail)) ++tail;
    }
    out += shown.substr(begin, head - begin);
    if (tail > head) out += say("[", tail - head, " more bytes]", shown.substr(tail, end - tail));
    if (end < shown.size()) out += ' ';
    begin = end + 1;
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    out += printable(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return out + printable(text);
}

}  // namespace mla::files
