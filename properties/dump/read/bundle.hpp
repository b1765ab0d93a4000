// Bundle: one step as an engine dumped it: a folder with `manifest.json` and one .npy file for each
// array, or one .safetensors file.
//
//   {"format": "mla-testbed bundle 1", "name": "...", "arch": "gfx942", "num_cu": 304, ...,
//    "arrays": {"seqlens_qo_indptr": {"file": "qo_indptr.npy", "sha256": "e3b0c442..."}}}
//
// A .safetensors file has the same manifest without `arrays`, as text below the key `manifest` of
// its `__metadata__`. Scalars and arrays have the names of the planner's arguments and buffers
// (calls.hpp, plan.hpp); tensors are those of replay/step.hpp. The bundle may come from anywhere:
// file names stay in the folder, sums are compared, sizes are checked before they are believed.
// Fails: with file and key.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "core/io/raw_array.hpp"
#include "core/result.hpp"

namespace mla::dump {

inline constexpr const char* kBundleFormat = "mla-testbed bundle 1";

struct Bundle {
  std::shared_ptr<const nlohmann::ordered_json> scalars;  // an object
  std::map<std::string, io::RawArray> arrays;
};

// Whether the path names a bundle: a folder, or a file that ends in .safetensors.
bool is_bundle(const std::string& path);
// Why a text that may be a case line or a bundle is neither; nothing if it is one of them, or a
// text that the parser of case lines complains about.
MaybeError why_no_bundle(const std::string& text);
Result<Bundle> read_bundle(const std::string& path);
// The text of a file of a folder, whose name is a plain one.
using FolderFile = std::function<Result<std::string>(const std::string&)>;
// The bundle of a folder that need not be on a disk; `folder` stands for it in messages.
Result<Bundle> read_folder(const std::string& folder, const FolderFile& read);
// The bundle that the bytes of a .safetensors file are; `path` stands for it in messages.
Result<Bundle> parse_bundle(std::span<const std::byte> bytes, const std::string& path);
// Replaces a bundle that is there as a whole: if one file has no room, all stay.
MaybeError write_bundle(const Bundle& bundle, const std::string& folder);
// Whether the path may be a file of the bundle in that folder, which need not be there yet.
bool is_file_of_bundle(const std::string& path, const std::string& folder);

// The lists of a JSON object that read_dump() takes become arrays.
Bundle bundle_of(const std::string& document);
// The same object again, without the tensors.
Result<nlohmann::json> document_of(const Bundle& bundle);

}  // namespace mla::dump
