#include "properties/files/parse_json.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/say.hpp"

namespace mla::files {
namespace {

using nlohmann::json;

// Line and column of byte `at`, counted from 1.
std::string place(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at > 0 ? at - 1 : 0);
  const std::size_t line = before.rfind('\n');
  return say("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
             line == std::string_view::npos ? before.size() + 1 : before.size() - line);
}

// Walks through a text without keeping it, and remembers what forbids to read it.
class Inspection : public nlohmann::json_sax<json> {
 public:
  std::size_t deepest = 0;
  std::string twice;          // a key that one object has twice
  std::size_t broken_at = 0;  // byte, counted from 1; 0: it is JSON

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t /*value*/) override { return true; }
  bool number_unsigned(std::uint64_t /*value*/) override { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(json::binary_t& /*value*/) override { return true; }
  bool start_array(std::size_t /*size*/) override { return open(); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t /*size*/) override { return open(); }
  bool end_object() override { return close(); }
  bool key(std::string& value) override {
    if (!keys_.back().insert(value).second) twice = value;
    return true;
  }
  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    broken_at = std::max<std::size_t>(at, 1);
    return false;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // of the lists and objects that are open

  bool open() {
    keys_.emplace_back();
    deepest = std::max(deepest, keys_.size());
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
};

MaybeError inspect(std::string_view text) {
  Inspection seen;
  json::sax_parse(text, &seen);
  // The library takes a NUL byte for the end of the text.
  if (const std::size_t nul = text.find('\0'); seen.broken_at == 0 && nul != text.npos)
    seen.broken_at = nul + 1;
  const auto bad = [](const std::string& why) { return Error{ErrorCode::usage, why}; };
  if (seen.deepest > kDeepestJson)
    return bad(say("nests lists and objects ", seen.deepest, " levels deep: at most ", kDeepestJson,
                   " are read"));
  if (seen.broken_at > 0) return bad("is not JSON: it breaks at " + place(text, seen.broken_at));
  if (!seen.twice.empty()) return bad("has the key '" + seen.twice + "' twice in one object");
  return std::nullopt;
}

}  // namespace

Result<json> parse_json(std::string_view text) {
  if (const MaybeError bad = inspect(text)) return *bad;
  return json::parse(text, nullptr, false);
}

Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text) {
  if (const MaybeError bad = inspect(text)) return *bad;
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

}  // namespace mla::files
