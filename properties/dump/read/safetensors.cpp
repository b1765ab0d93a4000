#include "properties/dump/read/safetensors.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/say.hpp"
#include "properties/files/parse_json.hpp"

namespace mla::dump {
namespace {

using io::ElementKind;
using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
// The format's own limit for a header.
constexpr std::uint64_t kMostHeader = 100'000'000;

struct Type {
  std::string_view name;
  ElementKind kind;
  std::int64_t width;
};
constexpr Type kTypes[] = {
    {"BOOL", ElementKind::unsigned_integer, 1}, {"U8", ElementKind::unsigned_integer, 1},
    {"I8", ElementKind::signed_integer, 1},     {"U16", ElementKind::unsigned_integer, 2},
    {"I16", ElementKind::signed_integer, 2},    {"U32", ElementKind::unsigned_integer, 4},
    {"I32", ElementKind::signed_integer, 4},    {"U64", ElementKind::unsigned_integer, 8},
    {"I64", ElementKind::signed_integer, 8},    {"BF16", ElementKind::bits, 2},
    {"F8_E4M3", ElementKind::bits, 1},          {"F8_E4M3FNUZ", ElementKind::bits, 1},
    {"F8_E5M2", ElementKind::bits, 1},          {"F16", ElementKind::floating, 2},
    {"F32", ElementKind::floating, 4},          {"F64", ElementKind::floating, 8},
};

Error no_safetensors(const std::string& why) {
  return {ErrorCode::usage, "no safetensors file: " + why};
}

// A list of non-negative integers.
bool read_numbers(const json& list, std::vector<std::int64_t>& out) {
  if (!list.is_array()) return false;
  for (const json& element : list) {
    if (!element.is_number_unsigned()) return false;
    const auto value = element.get<std::uint64_t>();
    if (value > std::uint64_t{1} << 62U) return false;
    out.push_back(static_cast<std::int64_t>(value));
  }
  return true;
}

Result<io::RawArray> read_tensor(const std::string& name, const json& entry,
                                 std::span<const std::byte> data) {
  const std::string who = "tensor '" + name + "' ";
  if (!entry.is_object()) return no_safetensors(who + "is not an object");
  const json dtype = entry.value("dtype", json());
  const Type* type = nullptr;
  for (const Type& known : kTypes)
    if (dtype == json(known.name)) type = &known;
  if (type == nullptr) return no_safetensors(who + "has the type " + dtype.dump());
  const bool named = type->kind == ElementKind::bits || type->name == "BOOL";
  io::RawArray array{type->kind, type->width, {}, {}, named ? type->name : std::string_view()};
  if (!read_numbers(entry.value("shape", json()), array.shape))
    return no_safetensors(who + "has no shape");
  std::vector<std::int64_t> place;
  if (!read_numbers(entry.value("data_offsets", json()), place) || place.size() != 2 ||
      place[0] > place[1] || place[1] > std::ssize(data))
    return no_safetensors(say(who, "lies outside of the ", data.size(), " bytes of data"));
  const auto bytes = data.subspan(static_cast<std::size_t>(place[0]),
                                  static_cast<std::size_t>(place[1] - place[0]));
  if (const auto count = io::element_count(array.shape, array.width, std::ssize(bytes)); !count)
    return no_safetensors(who + "has " + count.error().message);
  array.bytes.assign(bytes.begin(), bytes.end());
  return array;
}

}  // namespace

Result<Safetensors> read_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes) return no_safetensors(say("it has ", bytes.size(), " bytes"));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  if (length > bytes.size() - kLengthBytes || length > kMostHeader)
    return no_safetensors(say("a header of ", length, " bytes in a file of ", bytes.size()));
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  const auto header = files::parse_json({text, static_cast<std::size_t>(length)});
  if (!header) return no_safetensors("its header " + header.error().message);
  if (!header->is_object()) return no_safetensors("its header is not a JSON object");
  const auto data = bytes.subspan(kLengthBytes + static_cast<std::size_t>(length));
  Safetensors file;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return no_safetensors("__metadata__ is not an object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string())
          return no_safetensors("__metadata__ holds '" + key + "', which is not a string");
        file.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    auto array = read_tensor(name, entry, data);
    if (!array) return array.error();
    file.arrays[name] = std::move(*array);
  }
  return file;
}

}  // namespace mla::dump
