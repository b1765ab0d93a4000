// What the commands of `mla-testbed` take: subcommands, options and arguments.
//
// A thin cover over CLI11, whose header only options.cpp reads: it costs seconds in each source.
// Command and Option are handles of what a CommandLine owns, as cheap to copy as a pointer, and
// live no longer than that. A value that an option is bound to has to outlive parse(), and holds
// its default before. Private to properties/cli. Fails: parse() says why; the rest does not fail,
// except that a name that is declared twice throws.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mla::cli {

// One option, flag or argument of a command. What declares something returns the option again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  // The word for the value in the help, in place of TEXT.
  Option type_name(const std::string& word) const;
  Option required() const;
  // The help shows the value that is there now.
  Option show_default() const;
  Option one_of(const std::vector<std::string>& words) const;
  // Where the option is not given, the value is that of this variable, if it is set.
  Option environment(const std::string& variable) const;
  // Of a list: one value for each time that it is given, not all words that follow.
  Option one_value_each() const;
  // Of a list: several values in one word.
  Option delimiter(char c) const;
  // Not together with the other.
  Option excludes(Option other) const;
  // Only together with the other.
  Option needs(Option other) const;
  // After parsing: by name or by the environment.
  [[nodiscard]] bool given() const;

 private:
  friend class Command;
  CLI::Option* option_;
};

// What a command takes, for a shell that completes it.
struct Declared {
  std::string name;                     // "--seed"; empty: an argument
  std::string what;                     // as the help says it
  std::string type;                     // the word for the value, "FILE"; empty: a flag
  std::vector<std::string> words = {};  // all values that there are; empty: any
};

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}
  Command add_subcommand(const std::string& name, const std::string& what);
  // `name` with hyphens is an option, without them an argument.
  Option add_option(const std::string& name, std::string& value, const std::string& what);
  Option add_option(const std::string& name, std::vector<std::string>& values,
                    const std::string& what);
  Option add_flag(const std::string& name, bool& value, const std::string& what);
  // `--name{word}`: the value is `word`, or what stands after `--name=`.
  Option add_flag(const std::string& name, std::string& value, const std::string& what);
  // What the help ends with.
  void footer(const std::string& text);
  // One of the subcommands has to be chosen.
  void require_subcommand();
  // Runs after parsing if the command was chosen.
  void callback(std::function<void()> run);
  // From now on no option or argument of any subcommand takes an empty value.
  void refuse_empty_values();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string what() const;
  [[nodiscard]] std::vector<Declared> declared() const;
  [[nodiscard]] std::vector<Command> subcommands() const;
  // The options that were given, as words that give them again, without those named here (without
  // hyphens), and without arguments.
  [[nodiscard]] std::vector<std::string> given_words(const std::set<std::string>& without) const;
  // For the callback: an option that was given goes with no other option or argument but these,
  // since the others would be without effect. Options are named without hyphens.
  void goes_only_with(Option option, std::initializer_list<std::string_view> others) const;

 protected:
  CLI::App* app_;
};

// Why no callback ran to its end.
struct Unparsed {
  std::string why;
  std::optional<std::string> asked = {};    // the help or version that was asked for: no error
  std::optional<std::string> unknown = {};  // the first word that nothing takes
  bool only_unknown = false;                // `why` is about such words
  bool in_command = false;                  // a subcommand was chosen
  std::vector<std::string> known = {};      // its options; or all subcommands
};

// The program: the command that has all others, and their owner.
class CommandLine : public Command {
 public:
  CommandLine(const std::string& what, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  // --version prints this.
  void version(const std::string& text);
  // Writes the values, then runs the callback of the command that was chosen; what it throws gets
  // out.
  std::optional<Unparsed> parse(std::vector<std::string> words);

 private:
  std::unique_ptr<CLI::App> owned_;
};

// Of CLI11.
std::string_view parser_version();

}  // namespace mla::cli
