// `mla-testbed completion`: scripts with which a shell completes the command, made of what its
// parser knows.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "core/say.hpp"
#include "properties/app/backends.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/options.hpp"
#include "properties/plants/plant.hpp"
#include "properties/step/property.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

constexpr const char* kCompletionFooter = R"(
Prints a script for zsh or fish, or with `words` the values of options that have many, a line each.
Packages of mla-testbed install the scripts, and one for bash.

Examples:
  mla-testbed completion zsh > ~/.zfunc/_mla-testbed
  mla-testbed completion fish > ~/.config/fish/completions/mla-testbed.fish
  mla-testbed completion words)";

// Values of options that are known without being declared, by option.
std::map<std::string, std::vector<std::string>> known_words() {
  std::map<std::string, std::vector<std::string>> out;
  out["--backend"] = app::known_backends();
  out["--device"] = {"auto", "hip:0", "nvidia:0", "emulated:gfx942", "emulated:gfx950"};
  for (const prop::Property& p : prop::all_properties()) out["--property"].emplace_back(p.id);
  for (const prop::Plant& p : prop::all_plants()) out["--plant"].emplace_back(p.id);
  return out;
}

std::vector<std::string> words_of(const Declared& option) {
  if (!option.words.empty()) return option.words;
  const auto known = known_words();
  const auto found = known.find(option.name);
  return found == known.end() ? std::vector<std::string>() : found->second;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

// `text` with a backslash before each of these characters, and on one line.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Each command with the words that lead to it: "", "run", "gfx", "gfx run".
void visit(const Command& command, const std::string& path,
           const std::function<void(const Command&, const std::string&)>& one) {
  one(command, path);
  for (const Command& inner : command.subcommands())
    visit(inner, path.empty() ? inner.name() : path + " " + inner.name(), one);
}

std::string zsh_option(const Declared& option) {
  // In double quotes of zsh, inside of a specification in which [, ] and : mean something.
  std::string out = say("    \"", option.type.empty() ? "" : "*", option.name,
                        option.type.empty() ? "" : "=", "[", quoted(option.what, "[]:\"`$\\"), "]");
  if (option.type.empty()) return out + "\"\n";
  const std::vector<std::string> words = words_of(option);
  std::vector<std::string> escaped;
  for (const std::string& word : words) escaped.push_back(quoted(word, ":"));
  const std::string action = !words.empty()          ? "(" + joined(escaped, " ") + ")"
                             : option.type == "FILE" ? "_files"
                             : option.type == "DIR"  ? "_files -/"
                                                     : "";
  return say(out, ":", quoted(option.type, ":\"`$\\"), ":", action, "\"\n");
}

std::string zsh(const Command& program) {
  std::string out =
      "#compdef mla-testbed\n# Made by `mla-testbed completion zsh`.\n_mla_testbed() {\n"
      "  local path= word\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$path $word\" in\n";
  visit(program, "", [&out](const Command&, const std::string& path) {
    if (!path.empty()) out += say("      (\" ", path, "\") path=\" ", path, "\" ;;\n");
  });
  out += "    esac\n  done\n  case \"$path\" in\n";
  visit(program, "", [&out](const Command& command, const std::string& path) {
    out += say("  (\"", path.empty() ? "" : " ", path, "\")\n");
    const std::vector<Command> inner = command.subcommands();
    if (!inner.empty()) {
      out += "    local -a commands=(\n";
      for (const Command& one : inner)
        out += say("      \"", one.name(), ":", quoted(one.what(), "\"`$\\"), "\"\n");
      out += "    )\n    [[ ${words[CURRENT]} == -* ]] || { _describe command commands; return }\n";
    }
    out += "    _arguments -S -A \"-*\" \\\n";
    for (const Declared& option : command.declared())
      if (!option.name.empty()) {
        std::string line = zsh_option(option);
        line.insert(line.size() - 1, " \\");
        out += line;
      }
    out += "    \"*:file:_files\"\n    ;;\n";
  });
  return out + "  esac\n}\n_mla_testbed \"$@\"\n";
}

std::string fish(const Command& program) {
  std::string out =
      "# Made by `mla-testbed completion fish`.\n"
      "# Whether the words that lead to a command are the first that are no options.\n"
      "function __mla_testbed_in\n"
      "  set -l words (commandline -opc)[2..-1]\n"
      "  set -l found\n"
      "  for word in $words\n"
      "    string match -q -- '-*' $word; or set -a found $word\n"
      "  end\n"
      "  set -l asked (count $argv)\n"
      "  test (count $found) -ge $asked; or return 1\n"
      "  test $asked -eq 0; and test (count $found) -gt 0; and return 1\n"
      "  test $asked -eq 0; and return 0\n"
      "  test \"$found[1..$asked]\" = \"$argv\"\n"
      "end\n";
  visit(program, "", [&out](const Command& command, const std::string& path) {
    const std::string when =
        say("complete -c mla-testbed -n '__mla_testbed_in", path.empty() ? "" : " ", path, "'");
    for (const Command& one : command.subcommands())
      out += say(when, " -f -a ", one.name(), " -d '", quoted(one.what(), "'\\"), "'\n");
    for (const Declared& option : command.declared()) {
      if (option.name.empty()) continue;
      out += say(when, " -l ", option.name.substr(2), " -d '", quoted(option.what, "'\\"), "'");
      if (!option.type.empty()) out += " -r";
      if (const auto words = words_of(option); !words.empty())
        out += say(" -f -a '", joined(words, " "), "'");
      else if (!option.type.empty() && option.type != "FILE" && option.type != "DIR")
        out += " -f";
      out += "\n";
    }
  });
  return out;
}

std::string word_list() {
  std::string out;
  for (const auto& [option, words] : known_words())
    for (const std::string& word : words) out += option + " " + word + "\n";
  return out;
}

}  // namespace

void add_completion(Command& app, ExitCode& exit) {
  auto shell = std::make_shared<std::string>();
  Command c = app.add_subcommand("completion", "Print a script that completes the command");
  c.add_option("shell", *shell, "zsh, fish, or words").required().one_of({"zsh", "fish", "words"});
  c.footer(kCompletionFooter);
  c.callback([shell, app, &exit] {
    exit = finish("completion",
                  *shell == "zsh"    ? zsh(app)
                  : *shell == "fish" ? fish(app)
                                     : word_list(),
                  ExitCode::held);
  });
}

}  // namespace mla::cli
