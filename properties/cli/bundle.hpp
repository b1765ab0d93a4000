// Bundle: the metadata of one step as an engine dumped it: a folder with `manifest.json` and one
// .npy file for each buffer.
//
//   {"format": "mla-testbed bundle 1", "name": "...", "arch": "gfx942", "num_cu": 304, ...,
//    "arrays": {"seqlens_qo_indptr": {"file": "qo_indptr.npy", "fnv1a64": "0123456789abcdef"}}}
//
// Scalars and arrays have the names of the planner's arguments and buffers (planner_call.hpp). The
// bundle may come from anywhere: file names stay in the folder, sums are compared, sizes are
// checked before they are believed. Private to properties/cli. Fails: with file and key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/result.hpp"

namespace mla::cli {

// The same object as one JSON document would be.
Result<nlohmann::json> read_bundle(const std::string& folder);

// Writes the lists of a document that read_plan() and read_planner_call() take.
Status write_bundle(const nlohmann::ordered_json& document, const std::string& folder);

}  // namespace mla::cli
