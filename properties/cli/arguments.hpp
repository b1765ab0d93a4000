// The words of the command line: what is refused or rewritten before CLI11 reads them, and rules
// that hold for the options of every command.
//
// An option that is given never means "not given": where a shell variable is not set, the command
// would do something else than what was asked for. Private to properties/cli. Fails: with a usage
// error that names the word.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mla::cli {

// The words as CLI11 shall see them. Refuses `--name=`, for which CLI11 takes the next word as the
// value. `help plan` becomes `plan --help`.
Result<std::vector<std::string>> prepared_words(const CLI::App& app,
                                                std::vector<std::string> words);

// From now on no option or argument of any command takes an empty value.
void refuse_empty_values(CLI::App& app);

// For the callback of a command: an option that was given goes with no other option or argument but
// these, since the others would be without effect. Options are named without hyphens.
void goes_only_with(const CLI::App& command, const CLI::Option& option,
                    std::initializer_list<std::string_view> others);

}  // namespace mla::cli
