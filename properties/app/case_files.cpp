#include "properties/app/case_files.hpp"

#include "core/say.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// The line without comment and without blanks at its ends. No case holds a '#'.
std::string_view content(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Result<std::vector<Case>> parse_cases(std::string_view text, const std::string& name) {
  std::vector<Case> cases;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = content(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    auto c = parse_case(line);
    if (!c) {
      Error error = c.error();
      error.message = say(name, ":", number, ": ", error.message);
      return error;
    }
    cases.push_back(std::move(*c));
  }
  return cases;
}

Result<std::vector<Case>> load_cases(const std::string& path) {
  const auto text = files::read_file(path);
  if (!text) return text.error();
  return parse_cases(*text, path);
}

}  // namespace mla::app
