#include "core/io/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/say.hpp"

namespace mla::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kMostDimensions = 8;

struct Header {
  std::string text;       // of the dictionary
  std::size_t begin = 0;  // of the data
};

Result<Header> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return no_array("the file does not begin as one");
  const auto version = std::to_integer<unsigned>(bytes[6]);
  if (version < 1 || version > 3) return no_array(say("format version ", version));
  const std::size_t width = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) return no_array("the header is cut off");
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i)
    length |= std::to_integer<std::size_t>(bytes[8 + i]) << (8 * i);
  const std::size_t begin = 8 + width;
  if (length > bytes.size() - begin)
    return no_array(say("a header of ", length, " bytes in a file of ", bytes.size()));
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + begin;
  return Header{std::string(text, length), begin + length};
}

// What stands after 'key': in the dictionary, without blanks in front.
std::string_view value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(say("'", key, "'"));
  if (at == std::string_view::npos) return {};
  const std::size_t colon = text.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::size_t begin = text.find_first_not_of(' ', colon + 1);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

struct Element {
  ElementKind kind;
  std::int64_t width;
  std::string_view encoding = {};
};

Result<Element> element_of(std::string_view descr) {
  const Error unknown = no_array(say("element type '", descr, "'"));
  if (descr.size() != 3 || (descr[0] != '<' && descr[0] != '|')) return unknown;
  const std::int64_t width = descr[2] - '0';
  if (width != 1 && width != 2 && width != 4 && width != 8) return unknown;
  switch (descr[1]) {
    case 'i':
      return Element{ElementKind::signed_integer, width};
    case 'u':
      return Element{ElementKind::unsigned_integer, width};
    case 'f':
      if (width > 1) return Element{ElementKind::floating, width};
      return unknown;
    case 'b':
      if (width == 1) return Element{ElementKind::unsigned_integer, width, "BOOL"};
      return unknown;
    default:
      return unknown;
  }
}

std::string descr_of(const RawArray& array) {
  const char* kind = "u";
  if (array.kind == ElementKind::signed_integer) kind = "i";
  if (array.kind == ElementKind::floating) kind = "f";
  return say(array.width == 1 ? "|" : "<", kind, array.width);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t n : shape) text += say(n, ", ");
  if (shape.size() > 1) text.resize(text.size() - 2);  // one dimension keeps its comma
  return text + ")";
}

Result<std::vector<std::int64_t>> read_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) return no_array("no shape");
  text = text.substr(1, close - 1);
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) break;
    std::int64_t n = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n < 0) return no_array(say("shape (", text, ")"));
    if (std::ssize(shape) == kMostDimensions) return no_array("more than 8 dimensions");
    shape.push_back(n);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return shape;
}

}  // namespace

Result<RawArray> read_npy(std::span<const std::byte> bytes) {
  const auto header = read_header(bytes);
  if (!header) return header.error();
  const std::string_view descr = value_of(header->text, "descr");
  const std::size_t quote = descr.find('\'', 1);
  if (!descr.starts_with('\'') || quote == std::string_view::npos)
    return no_array("no element type");
  const auto element = element_of(descr.substr(1, quote - 1));
  if (!element) return element.error();
  if (!value_of(header->text, "fortran_order").starts_with("False"))
    return no_array("the order of its elements is not C's");
  auto shape = read_shape(value_of(header->text, "shape"));
  if (!shape) return shape.error();
  const auto data = bytes.subspan(header->begin);
  if (const auto count = element_count(*shape, element->width, std::ssize(data)); !count)
    return count.error();
  return RawArray{element->kind,
                  element->width,
                  std::move(*shape),
                  {data.begin(), data.end()},
                  element->encoding};
}

std::vector<std::byte> write_npy(const RawArray& array) {
  std::string header = "{'descr': '" + descr_of(array) +
                       "', 'fortran_order': False, 'shape': " + shape_text(array.shape) + ", }";
  constexpr std::size_t kFixed = 10;
  const std::size_t unpadded = kFixed + header.size() + 1;
  header.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string text(kMagic);
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size() & 0xFFU);
  text += static_cast<char>(header.size() >> 8U);
  text += header;
  const auto head = std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), array.bytes.begin(), array.bytes.end());
  return bytes;
}

}  // namespace mla::io
