#include "properties/cli/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "core/say.hpp"

namespace mla::cli {

Option Option::type_name(const std::string& word) const {
  return Option(option_->type_name(word));
}

Option Option::required() const {
  return Option(option_->required());
}

Option Option::show_default() const {
  return Option(option_->capture_default_str());
}

Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}

Option Option::environment(const std::string& variable) const {
  return Option(option_->envname(variable));
}

Option Option::one_value_each() const {
  return Option(option_->allow_extra_args(false));
}

Option Option::delimiter(char c) const {
  return Option(option_->delimiter(c));
}

Option Option::excludes(Option other) const {
  return Option(option_->excludes(other.option_));
}

Option Option::needs(Option other) const {
  return Option(option_->needs(other.option_));
}

bool Option::given() const {
  return option_->count() > 0;
}

Command Command::add_subcommand(const std::string& name, const std::string& what) {
  return Command(app_->add_subcommand(name, what));
}

Option Command::add_option(const std::string& name, std::string& value, const std::string& what) {
  return Option(app_->add_option(name, value, what));
}

Option Command::add_option(const std::string& name, std::vector<std::string>& values,
                           const std::string& what) {
  return Option(app_->add_option(name, values, what));
}

Option Command::add_flag(const std::string& name, bool& value, const std::string& what) {
  return Option(app_->add_flag(name, value, what));
}

Option Command::add_flag(const std::string& name, std::string& value, const std::string& what) {
  return Option(app_->add_flag(name, value, what));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}

void Command::require_subcommand() {
  app_->require_subcommand(1);
}

void Command::callback(std::function<void()> run) {
  app_->callback(std::move(run));
}

void Command::refuse_empty_values() {
  for (Command& command : subcommands()) {
    command.refuse_empty_values();
    for (CLI::Option* option : command.app_->get_options()) {
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

std::string Command::name() const {
  return app_->get_name();
}

std::string Command::what() const {
  return app_->get_description();
}

std::vector<Declared> Command::declared() const {
  std::vector<Declared> out;
  for (const CLI::Option* option : app_->get_options()) {
    Declared one{.name = {}, .what = option->get_description(), .type = {}};
    if (!option->get_lnames().empty()) one.name = "--" + option->get_lnames().front();
    if (option->get_items_expected_max() > 0) one.type = option->get_type_name();
    // CLI11 keeps the words of IsMember in the type's name alone: TEXT:{decode,prefill,fa}.
    if (const std::size_t open = one.type.find(":{"); open != std::string::npos) {
      std::istringstream list(one.type.substr(open + 2, one.type.rfind('}') - open - 2));
      for (std::string word; std::getline(list, word, ',');) one.words.push_back(word);
      one.type.resize(open);
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Command> Command::subcommands() const {
  std::vector<Command> out;
  for (CLI::App* one : app_->get_subcommands(nullptr)) out.emplace_back(one);
  return out;
}

std::vector<std::string> Command::given_words(const std::set<std::string>& without) const {
  std::vector<std::string> out;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (without.contains(name)) continue;
    if (option->get_items_expected_max() == 0) {
      out.push_back("--" + name);
      continue;
    }
    for (const std::string& value : option->results()) out.push_back("--" + name + "=" + value);
  }
  return out;
}

void Command::goes_only_with(Option option, std::initializer_list<std::string_view> others) const {
  if (!option.given()) return;
  for (const CLI::Option* one : app_->get_options()) {
    if (one == option.option_ || one->count() == 0) continue;
    if (std::find(others.begin(), others.end(), one->get_single_name()) == others.end())
      throw CLI::ExcludesError(option.option_->get_name(), one->get_name());
  }
}

CommandLine::CommandLine(const std::string& what, const std::string& name)
    : Command(nullptr), owned_(std::make_unique<CLI::App>(what, name)) {
  app_ = owned_.get();
}

CommandLine::~CommandLine() = default;

void CommandLine::version(const std::string& text) {
  app_->set_version_flag("-V,--version", text);
}

std::optional<Unparsed> CommandLine::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    Unparsed out{.why = error.what()};
    if (error.get_exit_code() == 0) {
      std::ostringstream text;
      app_->exit(error, text, text);
      out.asked = text.str();
    }
    const std::vector<std::string> left = app_->remaining(true);
    if (!left.empty()) out.unknown = left.front();
    out.only_unknown = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    for (const CLI::App* chosen : app_->get_subcommands()) {
      out.in_command = true;
      for (const CLI::Option* option : chosen->get_options())
        for (const std::string& name : option->get_lnames()) out.known.push_back("--" + name);
    }
    if (!out.in_command)
      for (const Command& command : subcommands()) out.known.push_back(command.name());
    return out;
  }
}

std::string_view parser_version() {
  return CLI11_VERSION;
}

}  // namespace mla::cli
