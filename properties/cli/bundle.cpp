#include "properties/cli/bundle.hpp"

#include <filesystem>

#include "core/io/checksum.hpp"
#include "core/io/npy.hpp"
#include "core/plan/plan.hpp"
#include "properties/cli/terminal.hpp"

namespace mla::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "mla-testbed bundle 1";

std::string sum_of(std::span<const std::byte> bytes) {
  return io::hex64(io::fnv1a64(bytes));
}

Error bad(const std::string& folder, const std::string& why) {
  return {ErrorCode::usage, "the bundle '" + folder + "' is incomplete: " + why, ""};
}

// A name that stays in its folder.
bool plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\\") == std::string::npos;
}

// The list of one array, or why there is none.
Result<json> read_array(const std::string& folder, const std::string& key, const json& entry) {
  if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string())
    return bad(folder, "array '" + key + "' names no file");
  const std::string file = entry["file"].get<std::string>();
  if (!plain_name(file)) return bad(folder, "array '" + key + "' names the file '" + file + "'");
  const auto text = read_file((fs::path(folder) / file).string());
  if (!text) return bad(folder, "array '" + key + "': " + text.error().message);
  const auto bytes = std::as_bytes(std::span(*text));
  if (entry.contains("fnv1a64") && entry["fnv1a64"] != sum_of(bytes))
    return bad(folder, "'" + file + "' has the sum " + sum_of(bytes) + ", the manifest says " +
                           entry["fnv1a64"].dump());
  const auto array = io::read_npy(bytes);
  if (!array) return bad(folder, "'" + file + "' is " + array.error().message);
  return json(array->values);
}

}  // namespace

Result<json> read_bundle(const std::string& folder) {
  const auto text = read_file((fs::path(folder) / "manifest.json").string());
  if (!text) return bad(folder, text.error().message);
  json object = json::parse(*text, nullptr, false);
  if (!object.is_object()) return bad(folder, "manifest.json is no JSON object");
  if (object.value("format", json()) != kFormat)
    return bad(folder, std::string("manifest.json is not of the format '") + kFormat + "'");
  if (!object.contains("arrays") || !object["arrays"].is_object())
    return bad(folder, "manifest.json has no 'arrays'");
  const json arrays = object["arrays"];
  object.erase("arrays");
  for (const auto& [key, entry] : arrays.items()) {
    auto list = read_array(folder, key, entry);
    if (!list) return list.error();
    object[key] = std::move(*list);
  }
  return object;
}

Status write_bundle(const nlohmann::ordered_json& document, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::fault, "'" + folder + "': " + error.message(), ""};
  nlohmann::ordered_json manifest = {{"format", kFormat}};
  nlohmann::ordered_json arrays;
  for (const auto& [key, value] : document.items()) {
    if (key == "format") continue;
    if (!value.is_array()) {
      manifest[key] = value;
      continue;
    }
    std::vector<std::int32_t> words;
    for (const auto& element : value)
      words.push_back(element.is_null() ? plan::kPoison : element.get<std::int32_t>());
    const std::vector<std::byte> bytes = io::write_npy(words);
    const std::string file = key + ".npy";
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (Status bad = write_file((fs::path(folder) / file).string(), text)) return bad;
    arrays[key] = {{"file", file}, {"fnv1a64", sum_of(bytes)}};
  }
  manifest["arrays"] = arrays;
  return write_file((fs::path(folder) / "manifest.json").string(), manifest.dump(1) + "\n");
}

}  // namespace mla::cli
