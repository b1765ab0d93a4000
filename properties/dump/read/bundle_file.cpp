// Bundles on disk.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/npy.hpp"
#include "core/io/sha256.hpp"
#include "core/say.hpp"
#include "properties/dump/read/bundle.hpp"
#include "properties/files/output_file.hpp"
#include "properties/files/terminal.hpp"

namespace mla::dump {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::string_view kSafetensors = ".safetensors";

bool is_folder(const std::string& path) {
  std::error_code unreadable;
  return fs::is_directory(path, unreadable);
}

// Dumps of several steps lie one folder deeper: an error that names the first of them.
MaybeError bundles_below(const std::string& folder) {
  std::error_code none;
  if (fs::exists(fs::path(folder) / "manifest.json", none)) return std::nullopt;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (fs::exists(entry.path() / "manifest.json", none)) found.push_back(entry.path().string());
  if (found.empty()) return std::nullopt;
  return Error{ErrorCode::usage, say("'", folder, "' has no manifest.json; ", found.size(),
                                     found.size() == 1 ? " bundle lies" : " bundles lie",
                                     " in it: '", *std::ranges::min_element(found), "'")};
}

}  // namespace

bool is_bundle(const std::string& path) {
  return is_folder(path) || path.ends_with(kSafetensors);
}

MaybeError why_no_bundle(const std::string& text) {
  std::error_code unreadable;
  if (is_bundle(text) || text.starts_with("mla1:")) return std::nullopt;
  if (fs::exists(text, unreadable))
    return Error{
        ErrorCode::usage,
        "'" + text + "' is not a bundle: a folder with manifest.json, or a .safetensors file"};
  if (text.find('/') != std::string::npos)
    return Error{ErrorCode::fault, "there is no bundle '" + text + "'"};
  if (text.find_first_of(":;") != std::string::npos) return std::nullopt;
  return Error{ErrorCode::usage,
               "'" + text +
                   "' is neither a bundle nor a case: there is no such file or folder, and a case "
                   "begins with 'mla1:'"};
}

Result<Bundle> read_bundle(const std::string& path) {
  if (is_folder(path)) {
    if (const MaybeError deeper = bundles_below(path)) return *deeper;
    return read_folder(path, [&path](const std::string& file) {
      return files::read_regular_file((fs::path(path) / file).string());
    });
  }
  const auto text = files::read_regular_file(path);
  if (!text) return text.error();
  return parse_bundle(std::as_bytes(std::span(*text)), path);
}

MaybeError write_bundle(const Bundle& bundle, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::fault, "'" + folder + "': " + error.message()};
  std::vector<files::ReadyFile> files;
  const auto add = [&](const std::string& file, std::string_view text) -> MaybeError {
    auto ready = files::ReadyFile::write((fs::path(folder) / file).string(), text);
    if (!ready) return ready.error();
    files.push_back(std::move(*ready));
    return std::nullopt;
  };
  ordered_json manifest = {{"format", kBundleFormat}};
  for (const auto& [key, value] : bundle.scalars->items())
    if (key != "format") manifest[key] = value;
  for (const auto& [key, array] : bundle.arrays) {
    const std::vector<std::byte> bytes = io::write_npy(array);
    const std::string file = key + ".npy";
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (MaybeError failed = add(file, text)) return failed;
    manifest["arrays"][key] = {{"file", file}, {"sha256", io::sha256(bytes)}};
  }
  if (MaybeError failed = add("manifest.json", manifest.dump(1) + "\n")) return failed;
  for (files::ReadyFile& file : files)
    if (MaybeError failed = file.take_name()) return failed;
  return std::nullopt;
}

bool is_file_of_bundle(const std::string& path, const std::string& folder) {
  std::error_code none;
  // Of a path that begins with nothing that exists, weakly_canonical() makes no absolute one.
  const fs::path real = fs::weakly_canonical(fs::absolute(path), none);
  const fs::path kind = real.extension();
  return (kind == ".json" || kind == ".npy") &&
         real.parent_path() == fs::weakly_canonical(fs::absolute(folder), none);
}

}  // namespace mla::dump
