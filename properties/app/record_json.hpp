// What records of all commands have in common: a format, a version, a shard.
// They are not trusted.
#pragma once

#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "properties/judge/answers.hpp"

namespace mla::app {

// Ends the reading of a record; read_json_record says of which.
[[noreturn]] void reject(const std::string& why);

// What an exception of the reading says, without the names of the JSON library.
std::string sentence_of(const std::exception& bad);

// A number from 0 to `most`; anything else is rejected.
std::int64_t number_of(const nlohmann::json& object, const char* key, std::int64_t most);

// Rejects another format or version.
void check_format(const nlohmann::json& document, const char* format);
std::uint64_t seed_of(const nlohmann::json& document);
// The shard of a record, `[index, count]`.
prop::Shard shard_of(const nlohmann::json& document);

// ASCII, without spaces if `indent` is -1; bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& document, int indent);

// Reads a file; `kind` is what it should be a record of: "a run".
MaybeError read_json_file(const std::string& path, const char* kind,
                          const std::function<void(const nlohmann::json&)>& read);
template <class Record>
Result<Record> read_json_record(const std::string& path, const char* kind,
                                Record (*read)(const nlohmann::json&)) {
  std::optional<Record> record;
  const auto keep = [&](const nlohmann::json& document) { record = read(document); };
  if (const MaybeError bad = read_json_file(path, kind, keep)) return *bad;
  return std::move(*record);
}

}  // namespace mla::app
