// JSON from outside: documents, manifests, headers and ledgers that are not trusted.
//
// The one way in. nlohmann copies, prints and compares values recursively, so text that nests
// deeply enough ends the process: it is refused here. So is a key that an object has twice, of
// which the library keeps the last, and text after a NUL byte, where it stops. Fails: with a
// predicate to put after the name of the text: "is no JSON: it breaks at line 3, column 7".
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/result.hpp"

namespace mla::cli {

// Levels of lists and objects in each other; a document of ours has five.
inline constexpr std::size_t kDeepestJson = 64;

Result<nlohmann::json> parse_json(std::string_view text);
// Keeps the order of the keys.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text);

}  // namespace mla::cli
