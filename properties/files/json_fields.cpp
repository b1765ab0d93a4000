#include "properties/files/json_fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/say.hpp"
#include "core/suggest.hpp"

namespace mla::files {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int32_t>::min();

// All integers of a planner call are 32 bits wide.
bool is_word(const json& value) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= std::uint64_t{kLargest};
  const auto number = value.get<std::int64_t>();
  return kSmallest <= number && number <= kLargest;
}

}  // namespace

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 40) + "...";
}

bool Fields::has(const char* key) const {
  return object_.contains(key);
}

void Fields::reject(const char* key, const std::string& why) {
  refuse(say("key '", key, "' ", why));
}

void Fields::refuse(const std::string& why) {
  if (error_.empty()) error_ = why;
}

void Fields::reject_unknown(std::span<const std::string_view> others) {
  std::vector<std::string_view> known = asked_;
  known.insert(known.end(), others.begin(), others.end());
  for (const auto& [key, value] : object_.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      reject(key.c_str(), "is unknown" + did_you_mean(key, known));
}

bool Fields::given(const char* key) {
  asked_.emplace_back(key);
  return has(key);
}

const json& Fields::get(const char* key) {
  static const json kNothing;
  asked_.emplace_back(key);
  const auto found = object_.find(key);
  if (found != object_.end()) return *found;
  reject(key, "is missing");
  return kNothing;
}

bool Fields::truth(const char* key) {
  const json& value = get(key);
  if (value.is_boolean()) return value.get<bool>();
  reject(key, "is " + shown(value) + ": it must be true or false");
  return false;
}

bool Fields::truth_or(const char* key, bool absent) {
  return given(key) ? truth(key) : absent;
}

std::int64_t Fields::number(const char* key) {
  const json& value = get(key);
  if (is_word(value)) return value.get<std::int64_t>();
  reject(key, "is " + shown(value) + ": it must be a 32-bit integer");
  return 0;
}

std::int64_t Fields::number_or(const char* key, std::int64_t absent) {
  return given(key) ? number(key) : absent;
}

std::int64_t Fields::whole(const char* key, std::int64_t most) {
  const json& value = get(key);
  if (value.is_number_unsigned() && std::cmp_less_equal(value.get<std::uint64_t>(), most))
    return value.get<std::int64_t>();
  reject(key, say("is ", shown(value), "; expected 0 to ", most));
  return 0;
}

std::uint64_t Fields::natural(const char* key) {
  const json& value = get(key);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  reject(key, "is " + shown(value) + ": it must be a whole number without a sign");
  return 0;
}

float Fields::real_or(const char* key, float absent) {
  if (!given(key)) return absent;
  const json& value = get(key);
  const float real = value.is_number() ? value.get<float>() : NAN;
  if (!std::isfinite(real)) reject(key, "is " + shown(value) + ": it must be a finite number");
  return real;
}

std::string Fields::text(const char* key) {
  const json& value = get(key);
  if (value.is_string()) return value.get<std::string>();
  reject(key, "is " + shown(value) + ": it must be a string");
  return "";
}

std::string Fields::text_or(const char* key, const std::string& absent) {
  return given(key) ? text(key) : absent;
}

std::vector<std::int32_t> Fields::words(const char* key) {
  const json& value = get(key);
  std::vector<std::int32_t> list;
  if (!value.is_array()) reject(key, "is " + shown(value) + ": it must be a list of integers");
  for (const json& element : value) {
    if (!is_word(element)) {
      reject(key, say("holds ", shown(element), " at place ", list.size(),
                      ": it must hold 32-bit integers"));
      return {};
    }
    list.push_back(element.get<std::int32_t>());
  }
  return list;
}

std::vector<std::string> Fields::texts(const char* key) {
  const json& value = get(key);
  std::vector<std::string> list;
  if (!value.is_array()) reject(key, "must be a list of strings");
  for (const json& element : value) {
    if (!element.is_string()) return reject(key, "must be a list of strings"), list;
    list.push_back(element.get<std::string>());
  }
  return list;
}

void Fields::each(const char* key, const std::function<void(Fields&)>& read) {
  const json& value = get(key);
  if (!value.is_array()) reject(key, "is " + shown(value) + ": it must be a list");
  for (const json& element : value) {
    if (!error_.empty()) return;
    Fields fields(element);
    read(fields);
    refuse(fields.error());
  }
}

}  // namespace mla::files
