#include "properties/app/record_json.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/recording.hpp"
#include "properties/files/parse_json.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {

void reject(const std::string& why) {
  throw std::out_of_range(why);
}

void check_format(const nlohmann::json& document, const char* format) {
  if (document.at("format") != format) reject(say("its format is not '", format, "'"));
  if (document.at("version") != kVersion)
    reject("it was made by version " + document.at("version").dump() + ", this is " + kVersion);
}

std::string sentence_of(const std::exception& bad) {
  const std::string_view text = bad.what();
  const std::size_t end = text.find("] ");
  if (!text.starts_with("[json.exception.") || end == text.npos) return std::string(text);
  return say("a value is missing or of another type (", text.substr(end + 2), ")");
}

std::int64_t number_of(const nlohmann::json& object, const char* key, std::int64_t most) {
  const nlohmann::json& value = object.at(key);
  if (!value.is_number_integer()) reject(say("'", key, "' is ", value.dump()));
  const auto n = value.get<std::int64_t>();
  if (n < 0 || n > most) reject(say("'", key, "' is ", n, "; expected 0 to ", most));
  return n;
}

std::uint64_t seed_of(const nlohmann::json& document) {
  const nlohmann::json& seed = document.at("seed");
  if (!seed.is_number_unsigned()) reject("'seed' is " + seed.dump());
  return seed.get<std::uint64_t>();
}

prop::Shard shard_of(const nlohmann::json& document) {
  const nlohmann::json& shard = document.at("shard");
  const auto whole = [&](std::size_t place) {
    if (!shard.at(place).is_number_integer()) reject("there is no shard " + shard.dump());
    return shard.at(place).get<std::int64_t>();
  };
  const prop::Shard out{whole(0), whole(1)};
  if (out.count < 1 || out.count > kMostShards || out.index < 0 || out.index >= out.count)
    reject("there is no shard " + shard.dump());
  return out;
}

MaybeError read_json_file(const std::string& path, const char* kind,
                          const std::function<void(const nlohmann::json&)>& read) {
  const auto text = files::read_file(path);
  if (!text) return text.error();
  const auto document = files::parse_json(*text);
  if (!document) return Error{ErrorCode::usage, "'" + path + "' " + document.error().message};
  try {
    read(*document);
    return std::nullopt;
  } catch (const std::exception& bad) {  // of the JSON library, or reject()
    return Error{ErrorCode::usage,
                 say("'", path, "' is no record of ", kind, ": ", sentence_of(bad))};
  }
}

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mla::app
