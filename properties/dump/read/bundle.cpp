#include "properties/dump/read/bundle.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/checksum.hpp"
#include "core/io/npy.hpp"
#include "core/io/sha256.hpp"
#include "core/plan/plan.hpp"
#include "core/say.hpp"
#include "properties/dump/read/safetensors.hpp"
#include "properties/files/parse_json.hpp"

namespace mla::dump {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The key of the sum that an entry names, and that sum of the bytes; no key where it names none.
// Older bundles have FNV-1a.
std::pair<const char*, std::string> sum_of(const ordered_json& entry,
                                           std::span<const std::byte> bytes) {
  if (entry.contains("sha256")) return {"sha256", io::sha256(bytes)};
  if (entry.contains("fnv1a64")) return {"fnv1a64", io::hex64(io::fnv1a64(bytes))};
  return {nullptr, {}};
}

Error bad(const std::string& path, const std::string& why) {
  return {ErrorCode::usage, "the bundle '" + path + "' is incomplete: " + why};
}

// A name that stays in its folder.
bool plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

// One array, or why there is none.
Result<io::RawArray> read_array(const std::string& folder, const FolderFile& read,
                                const std::string& key, const ordered_json& entry) {
  if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string())
    return bad(folder, "array '" + key + "' names no file");
  const std::string file = entry["file"].get<std::string>();
  if (!plain_name(file)) return bad(folder, "array '" + key + "' names the file '" + file + "'");
  const auto text = read(file);
  if (!text) return bad(folder, "array '" + key + "': " + text.error().message);
  const auto bytes = std::as_bytes(std::span(*text));
  const auto [kind, sum] = sum_of(entry, bytes);
  if (kind != nullptr && entry[kind] != sum)
    return Error{
        ErrorCode::usage,
        say("the bundle '", folder, "' was changed after it was written: '", file, "' has ", kind,
            " ", sum, ", the manifest says ", entry[kind].dump(), "; in Python, Bundle.load('",
            folder, "', changed=True).save('", folder, "') gives it a new one")};
  auto array = io::read_npy(bytes);
  if (!array) return bad(folder, "'" + file + "' is " + array.error().message);
  return array;
}

// The manifest of a bundle, from its text.
Result<ordered_json> parse_manifest(const std::string& path, const std::string& text) {
  auto manifest = files::parse_ordered_json(text);
  if (!manifest) return bad(path, "its manifest " + manifest.error().message);
  if (!manifest->is_object()) return bad(path, "its manifest is not a JSON object");
  if (manifest->value("format", ordered_json()) != kBundleFormat)
    return bad(path, say("its manifest is not of the format '", kBundleFormat, "'"));
  return manifest;
}

}  // namespace

Result<Bundle> read_folder(const std::string& folder, const FolderFile& read) {
  const auto text = read("manifest.json");
  if (!text) return bad(folder, text.error().message);
  auto manifest = parse_manifest(folder, *text);
  if (!manifest) return manifest.error();
  if (!manifest->contains("arrays") || !(*manifest)["arrays"].is_object())
    return bad(folder, "manifest.json has no 'arrays'");
  Bundle bundle;
  for (const auto& [key, entry] : (*manifest)["arrays"].items()) {
    auto array = read_array(folder, read, key, entry);
    if (!array) return array.error();
    bundle.arrays[key] = std::move(*array);
  }
  manifest->erase("arrays");
  bundle.scalars = std::make_shared<const ordered_json>(std::move(*manifest));
  return bundle;
}

Result<Bundle> parse_bundle(std::span<const std::byte> bytes, const std::string& path) {
  auto file = read_safetensors(bytes);
  if (!file) return bad(path, file.error().message);
  const auto text = file->metadata.find("manifest");
  if (text == file->metadata.end()) return bad(path, "its metadata has no 'manifest'");
  auto manifest = parse_manifest(path, text->second);
  if (!manifest) return manifest.error();
  return Bundle{std::make_shared<const ordered_json>(std::move(*manifest)),
                std::move(file->arrays)};
}

Bundle bundle_of(const std::string& document) {
  Bundle bundle;
  const ordered_json object = ordered_json::parse(document);
  ordered_json scalars = ordered_json::object();
  for (const auto& [key, value] : object.items()) {
    if (!value.is_array()) {
      scalars[key] = value;
      continue;
    }
    std::vector<std::int32_t> words;
    for (const auto& element : value)
      words.push_back(element.is_null() ? plan::kPoison : element.get<std::int32_t>());
    bundle.arrays[key] = io::raw_words(words);
  }
  bundle.scalars = std::make_shared<const ordered_json>(std::move(scalars));
  return bundle;
}

Result<json> document_of(const Bundle& bundle) {
  constexpr std::string_view kTensors[] = {"q", "kv_cache_pages", "kv_cache", "out", "lse"};
  constexpr std::string_view kLaunch = "launch_";
  // Lists that kernels read through raw pointers.
  constexpr std::string_view kInt32Lists[] = {
      "seqlens_qo_indptr", "seqlens_kv_indptr",    "kv_indices",        "pages_kv_indptr",
      "context_lens",      "num_kv_splits_indptr", "kv_last_page_lens", "work_indptr",
      "work_info",         "reduce_indptr",        "reduce_final_map",  "reduce_partial_map"};
  json document = *bundle.scalars;
  for (const auto& [key, array] : bundle.arrays) {
    if (std::ranges::find(kTensors, key) != std::end(kTensors)) continue;
    if (document.contains(key))
      return Error{ErrorCode::usage, "'" + key + "' is an array and a key of the manifest"};
    const std::string_view list =
        std::string_view(key).substr(key.starts_with(kLaunch) ? kLaunch.size() : 0);
    if (array.width != 4 && std::ranges::find(kInt32Lists, list) != std::end(kInt32Lists))
      return Error{ErrorCode::usage, say("array '", key, "' has elements of ", 8 * array.width,
                                         " bits: kernels read int32")};
    const auto values = io::integers_of(array);
    if (!values) return Error{ErrorCode::usage, "array '" + key + "' is " + values.error().message};
    document[key] = *values;
  }
  return document;
}

}  // namespace mla::dump
