#include "core/io/raw_array.hpp"

#include <algorithm>
#include <limits>

#include "core/say.hpp"

namespace mla::io {
namespace {

std::uint64_t word_at(const std::byte* at, std::int64_t width) {
  std::uint64_t word = 0;
  for (std::int64_t i = 0; i < width; ++i) word |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  return word;
}

}  // namespace

Error no_array(const std::string& why) {
  return {ErrorCode::usage, "no array of numbers: " + why};
}

Result<std::int64_t> element_count(std::span<const std::int64_t> shape, std::int64_t width,
                                   std::int64_t bytes) {
  // A dimension of 0 makes the array empty, wherever it stands.
  std::int64_t count = std::find(shape.begin(), shape.end(), 0) == shape.end() ? 1 : 0;
  for (const std::int64_t n : shape) {
    if (n < 0) return no_array(say("a dimension of ", n));
    if (n != 0 && count > bytes / n)
      return no_array(say("more elements than the ", bytes, " bytes of data hold"));
    count *= n;
  }
  if (count > bytes / width || count * width != bytes)
    return no_array(say(count, " elements of ", width, " bytes, ", bytes, " bytes of data"));
  return count;
}

Result<std::vector<std::int64_t>> integers_of(const RawArray& array) {
  const bool is_signed = array.kind == ElementKind::signed_integer;
  if (!is_signed && array.kind != ElementKind::unsigned_integer)
    return no_array(
        say("its elements are numbers of ", 8 * array.width, " bits that are no integers"));
  const std::int64_t count = std::ssize(array.bytes) / array.width;
  const unsigned unused = 64 - 8 * static_cast<unsigned>(array.width);
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t word = word_at(array.bytes.data() + i * array.width, array.width);
    if (!is_signed && word > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      return no_array(say("element ", i, " is ", word));
    values.push_back(is_signed ? static_cast<std::int64_t>(word << unused) >> unused
                               : static_cast<std::int64_t>(word));
  }
  return values;
}

RawArray raw_words(std::span<const std::int32_t> values) {
  RawArray array;
  array.shape = {std::ssize(values)};
  for (const std::int32_t value : values)
    for (unsigned shift = 0; shift < 32; shift += 8)
      array.bytes.push_back(static_cast<std::byte>(static_cast<std::uint32_t>(value) >> shift));
  return array;
}

}  // namespace mla::io
