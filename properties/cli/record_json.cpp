#include "properties/cli/record_json.hpp"

#include <stdexcept>

#include "properties/cli/build_info.hpp"
#include "properties/cli/recording.hpp"

namespace mla::cli {

void reject(const std::string& why) {
  throw std::out_of_range(why);
}

void check_format(const nlohmann::json& document, const char* format) {
  if (document.at("format") != format) reject(say("its format is not '", format, "'"));
  if (document.at("version") != kVersion)
    reject("it was made by version " + document.at("version").dump() + ", this is " + kVersion);
}

prop::Shard shard_of(const nlohmann::json& document) {
  const nlohmann::json& shard = document.at("shard");
  const prop::Shard out{shard.at(0).get<std::int64_t>(), shard.at(1).get<std::int64_t>()};
  if (out.count < 1 || out.count > kMostShards || out.index < 0 || out.index >= out.count)
    reject("there is no shard " + shard.dump());
  return out;
}

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace mla::cli
