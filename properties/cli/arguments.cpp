#include "properties/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/say.hpp"
#include "core/suggest.hpp"

namespace mla::cli {
namespace {

Error usage(const std::string& what) {
  return {ErrorCode::usage, what, ""};
}

Status refuse_open_values(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return std::nullopt;  // arguments follow, whatever they look like
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return usage(word.substr(0, word.size() - 1) +
                   ": the value is empty; expected one behind '='");
  }
  return std::nullopt;
}

// `help gfx run` as `gfx run --help`.
Result<std::vector<std::string>> as_option(const CLI::App& app,
                                           const std::vector<std::string>& words) {
  std::vector<std::string> out;
  const CLI::App* command = &app;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") break;
    std::vector<std::string> names;
    for (const CLI::App* one : command->get_subcommands(nullptr)) names.push_back(one->get_name());
    if (names.empty())
      return usage(say("'", command->get_name(), "' has no subcommand '", word, "'"));
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      return usage("there is no subcommand '" + word + "'" + did_you_mean_or_all(word, known));
    }
    command = command->get_subcommand(word);
    out.push_back(word);
  }
  out.emplace_back("--help");
  return out;
}

}  // namespace

Result<std::vector<std::string>> prepared_words(const CLI::App& app,
                                                std::vector<std::string> words) {
  if (Status bad = refuse_open_values(words)) return *bad;
  if (!words.empty() && words.front() == "help") return as_option(app, words);
  return words;
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    refuse_empty_values(*command);
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() == 0) continue;
      const std::string type = option->get_type_name();
      option->check([type](const std::string& value) {
        if (!value.empty()) return std::string();
        return say("the value is empty", type == "DIR"    ? "; expected a folder"
                                         : type == "FILE" ? "; expected a file"
                                                          : "");
      });
    }
  }
}

void goes_only_with(const CLI::App& command, const CLI::Option& option,
                    std::initializer_list<std::string_view> others) {
  if (option.count() == 0) return;
  for (const CLI::Option* one : command.get_options()) {
    if (one == &option || one->count() == 0) continue;
    if (std::find(others.begin(), others.end(), one->get_single_name()) == others.end())
      throw CLI::ExcludesError(option.get_name(), one->get_name());
  }
}

}  // namespace mla::cli
