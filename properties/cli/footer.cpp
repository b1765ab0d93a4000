#include "properties/cli/footer.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/shell_word.hpp"
#include "properties/show/document.hpp"

namespace mla::cli {
namespace {

std::string& command() {
  static std::string words;
  return words;
}

std::string day() {
  std::time_t now = std::time(nullptr);
  if (const char* given = std::getenv("SOURCE_DATE_EPOCH"); given != nullptr)
    std::from_chars(given, given + std::strlen(given), now);
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&now, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

void remember_command(const std::vector<std::string>& words) {
  std::string said = "mla-testbed";
  for (const std::string& word : words) said += " " + app::shell_word(word);
  command() = std::move(said);
}

std::string with_foot(std::string page) {
  return show::with_footer(std::move(page), {command(), say("mla-testbed ", app::kVersion), day()});
}

}  // namespace mla::cli
