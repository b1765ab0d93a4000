#include "core/io/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

namespace mla::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kMostDimensions = 8;

Error bad(const std::string& why) {
  return {ErrorCode::usage, "no array of integers: " + why, ""};
}

struct Header {
  std::string text;       // of the dictionary
  std::size_t begin = 0;  // of the data
};

Result<Header> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return bad("the file does not begin as one");
  const auto version = std::to_integer<unsigned>(bytes[6]);
  if (version < 1 || version > 3) return bad("format version " + std::to_string(version));
  const std::size_t width = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + width) return bad("the header is cut off");
  std::size_t length = 0;
  for (std::size_t i = 0; i < width; ++i)
    length |= std::to_integer<std::size_t>(bytes[8 + i]) << (8 * i);
  const std::size_t begin = 8 + width;
  if (length > bytes.size() - begin)
    return bad("a header of " + std::to_string(length) + " bytes in a file of " +
               std::to_string(bytes.size()));
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + begin;
  return Header{std::string(text, length), begin + length};
}

// What stands behind 'key': in the dictionary, without blanks in front.
std::string_view value_of(std::string_view text, std::string_view key) {
  const std::size_t at = text.find("'" + std::string(key) + "'");
  if (at == std::string_view::npos) return {};
  const std::size_t colon = text.find(':', at);
  if (colon == std::string_view::npos) return {};
  const std::size_t begin = text.find_first_not_of(' ', colon + 1);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

struct Element {
  std::size_t bytes = 0;
  bool is_signed = false;
};

Result<Element> element_of(std::string_view descr) {
  if (descr.size() != 3) return bad("element type '" + std::string(descr) + "'");
  const char order = descr[0];
  const char kind = descr[1];
  const auto width = static_cast<std::size_t>(descr[2] - '0');
  const bool integer = kind == 'i' || kind == 'u' || (kind == 'b' && width == 1);
  const bool known = width == 1 || width == 2 || width == 4 || width == 8;
  if (!integer || !known || (order != '<' && order != '|'))
    return bad("element type '" + std::string(descr) + "'");
  return Element{width, kind == 'i'};
}

Result<std::vector<std::int64_t>> read_shape(std::string_view text) {
  std::vector<std::int64_t> shape;
  const std::size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) return bad("no shape");
  text = text.substr(1, close - 1);
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) break;
    std::int64_t n = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n < 0) return bad("shape (" + std::string(text) + ")");
    if (std::ssize(shape) == kMostDimensions) return bad("more than 8 dimensions");
    shape.push_back(n);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return shape;
}

// The number of elements, which the bytes behind the header hold exactly.
Result<std::size_t> count_of(const std::vector<std::int64_t>& shape, std::size_t width,
                             std::size_t bytes) {
  std::size_t count = 1;
  for (const std::int64_t n : shape) {
    const auto extent = static_cast<std::size_t>(n);
    if (extent != 0 && count > bytes / extent)
      return bad("more elements than the " + std::to_string(bytes) + " bytes of data hold");
    count *= extent;
  }
  if (count > bytes / width || count * width != bytes)
    return bad(std::to_string(count) + " elements of " + std::to_string(width) + " bytes, " +
               std::to_string(bytes) + " bytes of data");
  return count;
}

std::uint64_t word_at(const std::byte* at, std::size_t width) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < width; ++i) word |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  return word;
}

}  // namespace

Result<NpyArray> read_npy(std::span<const std::byte> bytes) {
  const auto header = read_header(bytes);
  if (!header) return header.error();
  const std::string_view descr_text = value_of(header->text, "descr");
  const std::size_t quote = descr_text.find('\'', 1);
  if (!descr_text.starts_with('\'') || quote == std::string_view::npos)
    return bad("no element type");
  NpyArray array;
  array.descr = descr_text.substr(1, quote - 1);
  const auto element = element_of(array.descr);
  if (!element) return element.error();
  if (!value_of(header->text, "fortran_order").starts_with("False"))
    return bad("the order of its elements is not C's");
  auto shape = read_shape(value_of(header->text, "shape"));
  if (!shape) return shape.error();
  array.shape = std::move(*shape);
  const auto count = count_of(array.shape, element->bytes, bytes.size() - header->begin);
  if (!count) return count.error();
  array.values.reserve(*count);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(element->bytes);
  for (std::size_t i = 0; i < *count; ++i) {
    const std::uint64_t word =
        word_at(bytes.data() + header->begin + i * element->bytes, element->bytes);
    if (!element->is_signed && word > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return bad("element " + std::to_string(i) + " is " + std::to_string(word));
    array.values.push_back(element->is_signed ? static_cast<std::int64_t>(word << unused) >> unused
                                              : static_cast<std::int64_t>(word));
  }
  return array;
}

std::vector<std::byte> write_npy(std::span<const std::int32_t> values) {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ",), }";
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
  for (const std::int32_t value : values)
    for (unsigned shift = 0; shift < 32; shift += 8)
      text += static_cast<char>(static_cast<std::uint32_t>(value) >> shift & 0xFFU);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace mla::io
