// The documents stay true: every case line in them is one, and every field of the line is
// described.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/case/case.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE_FALSE(text.str().empty());
  return text.str();
}

}  // namespace

TEST_CASE("documents: every case line in README and docs parses", "[cli][docs]") {
  std::vector<std::filesystem::path> pages = {MLA_ROOT "/README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(MLA_ROOT "/docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  // Up to a quote, a blank or the end of a code span; `<` stands for what a reader fills in.
  const std::regex line("mla1:[^\\s'\"`]+");
  std::int64_t lines = 0;
  for (const auto& page : pages) {
    const std::string text = text_of(page);
    for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
      const std::string found = it->str();
      if (found.find('<') != std::string::npos) continue;
      const auto c = parse_case(found);
      INFO(page << ": " << found << (c ? "" : ": " + c.error().message));
      CHECK(c.ok());
      ++lines;
    }
  }
  CHECK(lines >= 12);
}

TEST_CASE("documents: docs/reference/cases.md lists every field with its kinds and its default",
          "[cli][docs]") {
  const std::string text = text_of(MLA_ROOT "/docs/reference/cases.md");
  // One row of a table: | `field` | kinds | values | `default` | meaning |
  const std::regex row("\\n\\| `([a-z]+)` \\| ([a-z, ]+) \\|[^|]*\\| `([^`|]+)` \\|");
  std::map<std::string, std::string> defaults;
  std::map<std::string, std::string> kinds;
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    kinds[(*it)[1]] = (*it)[2];
    defaults[(*it)[1]] = (*it)[3];
  }

  // The line with all defaults written out is the line without any field.
  std::string full = "mla1:1q1s1";
  for (const auto& [field, value] : defaults)
    if (field != "cu") full += ";" + field + "=" + value;  // its default follows the architecture
  const auto spelled = parse_case(full);
  INFO(full << (spelled ? "" : spelled.error().message));
  REQUIRE(spelled);
  CHECK(*spelled == *parse_case("mla1:1q1s1"));

  // And no field that the parser knows is missing: the printed line of a case that differs from
  // every default of its kind names them all.
  const std::map<std::string, std::string> fields_of{
      {"decode",
       "page=16;planner=v11;pad=1;spare=1.huge;scale=2/2;lse=1;origin=1;sched=1;qpad=4;gran=1;"
       "split=1;splits=1;latent=2;rope=1;value=1"},
      {"prefill", "kind=prefill;page=16;planner=v11;pad=1;origin=1;sched=1;workspace=1"},
      {"fa", "kind=fa;pad=1;origin=1;workspace=1;kvheads=2;dim=64;window=1;draft=1"}};
  for (const auto& [kind, fields] : fields_of) {
    const auto all = parse_case("mla1:1q1s1;" + fields);
    REQUIRE(all);
    const std::string line = format_case(*all);
    const std::regex key(";([a-z]+)=");
    std::set<std::string> named{"kind"};
    for (std::sregex_iterator it(line.begin(), line.end(), key), end; it != end; ++it)
      named.insert((*it)[1]);
    if (kind != "decode") named.erase("gran"), named.erase("split");  // in every line
    for (const auto& [field, owners] : kinds) {
      INFO(kind << ", field " << field << " of " << owners);
      CHECK((named.erase(field) == 1) ==
            (owners == "all" || (" " + owners + ",").find(" " + kind + ",") != std::string::npos));
    }
    CHECK(named.empty());
  }
}
