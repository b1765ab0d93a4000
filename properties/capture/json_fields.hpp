// Fields: reads the keys of one JSON object and remembers the first that is missing or wrong.
//
// Private to properties/cli. A reader with `_or` takes a default for an absent key; the others need
// the key. After an error every reader returns an empty value, so that a caller reads all keys and
// asks once. Fails: error() names the key and what stands there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifetime.hpp"

namespace mla::cli {

class Fields {
 public:
  explicit Fields(const nlohmann::json& object MLA_LIFETIME_BOUND) : object_(object) {}

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  [[nodiscard]] bool truth(const char* key);
  [[nodiscard]] bool truth_or(const char* key, bool absent);
  [[nodiscard]] std::int64_t number(const char* key);
  [[nodiscard]] std::int64_t number_or(const char* key, std::int64_t absent);
  [[nodiscard]] float real_or(const char* key, float absent);  // finite
  [[nodiscard]] std::string text(const char* key);
  [[nodiscard]] std::string text_or(const char* key, const std::string& absent);
  [[nodiscard]] std::vector<std::int32_t> words(const char* key);

  // Rejects a key that no reader asked for and that is not in `others`: it would not be read, and
  // the argument that it was meant to be would take its default.
  void reject_unknown(std::span<const std::string_view> others);
  // For values that are of the right type and still impossible.
  void reject(const char* key, const std::string& why);
  // Empty when every key so far was fine.
  [[nodiscard]] const std::string& error() const MLA_LIFETIME_BOUND { return error_; }

 private:
  // The value of `key`, or null after noting that it is missing.
  [[nodiscard]] const nlohmann::json& get(const char* key);
  // Whether an optional key is there.
  [[nodiscard]] bool given(const char* key);

  const nlohmann::json& object_;
  std::vector<std::string_view> asked_;
  std::string error_;
};

// What stands there, short enough for a sentence and in printable characters.
std::string shown(const nlohmann::json& value);

}  // namespace mla::cli
