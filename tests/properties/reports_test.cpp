// docs/reference/vllm-reports.md is true: every row names code that is there, a property that holds
// for the row's case, and a plant that makes it fail.
#include <fstream>
#include <set>
#include <sstream>

#include "cpu_backend/cpu_backend.hpp"
#include "properties/plants/plant.hpp"
#include "properties/step/property.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

struct Row {
  std::string report, claim, file, symbol, property, plant, line;
};

std::string text_of(const std::string& path) {
  std::ifstream in(std::string(MLA_SOURCE) + "/" + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The n-th text between backticks.
std::string quoted(const std::string& cell, std::size_t n) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < 2 * n + 1; ++i) {
    at = cell.find('`', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  return cell.substr(at, cell.find('`', at) - at);
}

std::vector<Row> rows_of(const std::string& page) {
  std::vector<Row> rows;
  std::istringstream lines(page);
  std::string report;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) report = line.substr(3, line.find(':') - 3);
    if (!line.starts_with("| ") || line.starts_with("| ---") || line.ends_with("Case |")) continue;
    std::vector<std::string> cells;
    std::istringstream split(line.substr(2));
    for (std::string cell; std::getline(split, cell, '|');)
      cells.push_back(cell.substr(cell.find_first_not_of(' ') == std::string::npos
                                      ? cell.size()
                                      : cell.find_first_not_of(' ')));
    REQUIRE(cells.size() >= 5);
    const auto word = [](const std::string& cell) { return cell.substr(0, cell.find(' ')); };
    rows.push_back({report, cells[0], quoted(cells[1], 0), quoted(cells[1], 1), word(cells[2]),
                    word(cells[3]), quoted(cells[4], 0)});
  }
  return rows;
}

}  // namespace

TEST_CASE("reports: each claim has code, a property that holds, and a plant that breaks it",
          "[docs][plants]") {
  const auto backend = cpu::make_cpu_backend();
  const std::vector<Row> rows = rows_of(text_of("docs/reference/vllm-reports.md"));
  std::set<std::string> reports;
  std::set<std::string> plants;
  for (const Row& row : rows) {
    INFO(row.report << ": " << row.claim);
    reports.insert(row.report);
    CHECK(plants.insert(row.plant).second);  // no two claims rest on one plant
    REQUIRE_FALSE(row.symbol.empty());
    CHECK(text_of(row.file).find(row.symbol) != std::string::npos);
    const prop::Property* property = prop::find_property(row.property);
    const prop::Plant* plant = prop::find_plant(row.plant);
    REQUIRE(property != nullptr);
    REQUIRE(plant != nullptr);
    CHECK(plant->property == row.property);
    const auto c = parse_case(row.line);
    REQUIRE(c.ok());
    const auto defect = plant->make();
    prop::Subject with(*c, *backend, defect.get());
    CHECK(property->check(with).verdict == prop::Verdict::fail);
    prop::Subject without(*c, *backend, nullptr);
    CHECK(property->check(without).verdict == prop::Verdict::pass);
  }
  CHECK(reports == std::set<std::string>{"vLLM #36574", "vLLM #38615", "vLLM #39616", "vLLM #41942",
                                         "vLLM #42509"});
  CHECK(rows.size() == 56);
}
