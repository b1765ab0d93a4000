// Plans from outside: which format an object has by its key `format`, and the keys beside a list.
//
// Without that key the other keys tell. Fails: a format that is unknown, with those that are known,
// one that other keys contradict, and a key that would be ignored beside a list.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace mla::dump {

inline constexpr std::string_view kFaFormat = "mla-testbed fa 1";

// Of one plan.
[[nodiscard]] MaybeError check_plan_format(const nlohmann::json& object);
// Of a document with a list of plans below `key`, which is all that it has to say.
[[nodiscard]] MaybeError check_list(const nlohmann::json& document, const std::string& key);

}  // namespace mla::dump
