// The key `format` of plans from outside: what an object says that it is.
//
// An object without the key is what its other keys say. Private to properties. Fails: a format that
// nobody knows, with those that are known, and one that other keys contradict.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "core/result.hpp"

namespace mla::cli {

inline constexpr std::string_view kFaFormat = "mla-testbed fa 1";

// Of one plan.
[[nodiscard]] Status check_plan_format(const nlohmann::json& object);
// Of a document with a list of plans.
[[nodiscard]] Status check_list_format(const nlohmann::json& document);

}  // namespace mla::cli
