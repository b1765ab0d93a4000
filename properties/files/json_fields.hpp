// Fields: reads the keys of one JSON object and remembers the first that is missing or wrong.
//
// A reader with `_or` takes a default for an absent key; the others need
// the key. After an error every reader returns an empty value, so that a caller reads all keys and
// asks once. Fails: error() names the key and what stands there.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/lifetime.hpp"

namespace mla::files {

class Fields {
 public:
  explicit Fields(const nlohmann::json& object MLA_LIFETIME_BOUND) : object_(object) {}

  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] bool truth(const char* key);
  [[nodiscard]] bool truth_or(const char* key, bool absent);
  [[nodiscard]] std::int64_t number(const char* key);
  [[nodiscard]] std::int64_t number_or(const char* key, std::int64_t absent);
  // A number from 0 to `most`, and one of 64 bits without a sign.
  [[nodiscard]] std::int64_t whole(const char* key, std::int64_t most);
  [[nodiscard]] std::uint64_t natural(const char* key);
  [[nodiscard]] float real_or(const char* key, float absent);  // finite
  [[nodiscard]] std::string text(const char* key);
  [[nodiscard]] std::string text_or(const char* key, const std::string& absent);
  [[nodiscard]] std::vector<std::int32_t> words(const char* key);
  [[nodiscard]] std::vector<std::string> texts(const char* key);
  // Whatever stands there; null where it is missing, which is noted.
  [[nodiscard]] const nlohmann::json& get(const char* key);
  // Reads the objects of a list, up to the first that is wrong.
  void each(const char* key, const std::function<void(Fields&)>& read);

  // Nothing where the key is absent: if_given("page_size", &Fields::number).
  template <class T>
  [[nodiscard]] std::optional<T> if_given(const char* key, T (Fields::*read)(const char*)) {
    return has(key) ? std::optional((this->*read)(key)) : std::nullopt;
  }

  // Rejects a key that no reader asked for and that is not in `others`: it would not be read, and
  // the argument that it was meant to be would take its default.
  void reject_unknown(std::span<const std::string_view> others);
  // For values that are of the right type and still impossible.
  void reject(const char* key, const std::string& why);
  void refuse(const std::string& why);  // the object, in a sentence of its own
  // Empty when every key so far was fine.
  [[nodiscard]] const std::string& error() const MLA_LIFETIME_BOUND { return error_; }

 private:
  // Whether an optional key is there.
  [[nodiscard]] bool given(const char* key);

  const nlohmann::json& object_;
  std::vector<std::string_view> asked_;
  std::string error_;
};

// What stands there, short enough for a sentence and in printable characters.
std::string shown(const nlohmann::json& value);

}  // namespace mla::files
