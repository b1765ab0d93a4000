#include "properties/cli/arguments.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/cli/options.hpp"

namespace mla::cli {
namespace {

Error usage(const std::string& what) {
  return {ErrorCode::usage, what};
}

MaybeError refuse_open_values(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return std::nullopt;  // arguments follow, whatever they look like
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return usage(word.substr(0, word.size() - 1) +
                   ": the value is empty; expected one after '='");
  }
  return std::nullopt;
}

// `help gfx run` as `gfx run --help`.
Result<std::vector<std::string>> as_option(const Command& app,
                                           const std::vector<std::string>& words) {
  std::vector<std::string> out;
  Command command = app;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") break;
    std::vector<std::string> names;
    const std::vector<Command> subcommands = command.subcommands();
    for (const Command& one : subcommands) names.push_back(one.name());
    if (names.empty()) return usage(say("'", command.name(), "' has no subcommand '", word, "'"));
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return usage("there is no subcommand '" + word + "'" + did_you_mean_or_all(word, known));
    }
    command = subcommands[static_cast<std::size_t>(found - names.begin())];
    out.push_back(word);
  }
  out.emplace_back("--help");
  return out;
}

}  // namespace

Result<std::vector<std::string>> prepared_words(const Command& app,
                                                std::vector<std::string> words) {
  if (MaybeError bad = refuse_open_values(words)) return *bad;
  if (!words.empty() && words.front() == "help") return as_option(app, words);
  return words;
}

}  // namespace mla::cli
