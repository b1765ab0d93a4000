// Case files: one case line a line, `#` starts a comment, blank lines are skipped.
//
// Fails: a file that cannot be read (fault), a line that is no case (usage), with file and line
// number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/case/case.hpp"
#include "core/result.hpp"

namespace mla::app {

// The cases of a text, in order; `name` stands in error messages.
Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name);

// The cases of a file; "-" is stdin.
Result<std::vector<Case>> load_cases(const std::string& path);

}  // namespace mla::app
