#include "properties/cli/quantity.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "properties/app/record.hpp"

namespace mla::cli {
namespace {

constexpr std::int64_t kMaxCount = 1'000'000'000'000;
constexpr std::int64_t kMaxMilliseconds = std::int64_t{1000} * 3600 * 1000;

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Error bad(std::string_view option, std::string_view text, std::string_view expected) {
  return {ErrorCode::usage, say(option, " has value '", text, "': expected ", expected)};
}

}  // namespace

Result<std::uint64_t> parse_seed(std::string_view option, std::string_view text) {
  if (const auto n = whole_number<std::uint64_t>(text)) return *n;
  return bad(option, text, "an unsigned 64-bit number");
}

Result<std::int64_t> parse_count(std::string_view option, std::string_view text) {
  const auto n = whole_number<std::int64_t>(text);
  if (n && *n >= 0 && *n <= kMaxCount) return *n;
  return bad(option, text, "a number from 0 to 1000000000000");
}

Result<std::int64_t> parse_size(std::string_view option, std::string_view text) {
  std::string_view number = text;
  if (number.ends_with("iB")) number.remove_suffix(2);
  constexpr std::string_view kUnits = "KMGT";
  const std::size_t unit = number.empty() ? std::string_view::npos : kUnits.find(number.back());
  if (unit != std::string_view::npos) {
    number.remove_suffix(1);
    const std::int64_t bytes = std::int64_t{1} << (10 * (unit + 1));
    const auto n = whole_number<std::int64_t>(number);
    if (n && *n > 0 && *n <= (std::int64_t{1} << 50) / bytes) return *n * bytes;
  }
  return bad(option, text, "a size such as 512M, 8G or 2T, up to 1024T");
}

Result<std::array<std::uint32_t, 3>> parse_triple(std::string_view option, std::string_view text,
                                                  std::uint32_t least) {
  std::array<std::uint32_t, 3> size = {least, least, least};
  std::string_view rest = text;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t comma = rest.find(',');
    const auto value = parse_count(option, rest.substr(0, comma));
    if (!value) return value.error();
    if (*value < least || *value > 0x7fffffff)
      return Error{ErrorCode::usage,
                   say(option, " is ", text, "; expected ", least, " to 2147483647")};
    size[axis] = static_cast<std::uint32_t>(*value);
    if (comma == rest.npos) return size;
    rest.remove_prefix(comma + 1);
  }
  return Error{ErrorCode::usage, say(option, " is '", text, "'; expected X, X,Y or X,Y,Z")};
}

Result<std::chrono::milliseconds> parse_duration(std::string_view option, std::string_view text) {
  // Longer suffixes first: "ms" ends with "s".
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}};
  for (const auto& [suffix, milliseconds] : kUnits) {
    if (!text.ends_with(suffix)) continue;
    const auto n = whole_number<std::int64_t>(text.substr(0, text.size() - suffix.size()));
    if (n && *n >= 0 && *n <= kMaxMilliseconds / milliseconds)
      return std::chrono::milliseconds(*n * milliseconds);
    break;
  }
  return bad(option, text, "a whole number with a unit: 500ms, 30s, 2m or 1h, up to 1000h");
}

Result<app::MemoryLimit> parse_memory_limit(const std::string& text) {
  if (text.empty()) return app::available_limit();
  const auto bytes = parse_size("--memory-limit", text);
  if (!bytes) return bytes.error();
  return app::MemoryLimit{*bytes, "are allowed by --memory-limit"};
}

Result<prop::Shard> parse_shard(std::string_view text) {
  const Error wrong{ErrorCode::usage,
                    say("--shard has value '", text,
                        "': expected i/n with i from 1 to n, and n up to 10000, as 1/3")};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return wrong;
  const auto index = parse_count("--shard", text.substr(0, slash));
  const auto count = parse_count("--shard", text.substr(slash + 1));
  if (!index || !count || *count < 1 || *count > app::kMostShards || *index < 1 || *index > *count)
    return wrong;
  return prop::Shard{.index = *index - 1, .count = *count};
}

}  // namespace mla::cli
