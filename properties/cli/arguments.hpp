// The words of the command line: what is refused or rewritten before they are parsed.
//
// An option that is given never means "not given": where a shell variable is not set, the command
// would do something else than what was asked for. Private to properties/cli. Fails: with a usage
// error that names the word.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace mla::cli {

class Command;

// The words as they shall be parsed. Refuses `--name=`, for which CLI11 takes the next word as the
// value. `help plan` becomes `plan --help`.
Result<std::vector<std::string>> prepared_words(const Command& app, std::vector<std::string> words);

}  // namespace mla::cli
