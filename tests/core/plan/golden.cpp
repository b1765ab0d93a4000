#include "tests/core/plan/golden.hpp"

#include <algorithm>
#include <fstream>

#include "tests/catch.hpp"

namespace mla::golden {
namespace {

using nlohmann::json;

const std::vector<std::string> kArrays = {"work_indptr", "work_info", "reduce_indptr",
                                          "reduce_final_map", "reduce_partial_map"};

// The prefill fixture cuts the zeros at the end of an array, because nothing there is unwritten.
json without_zero_tail(json list) {
  while (!list.empty() && list.back() == 0) list.erase(list.size() - 1);
  return list;
}

void compare_lists(const std::string& key, const json& golden, const json& found,
                   std::vector<std::string>& out) {
  if (golden.size() != found.size())
    out.push_back(key + " has " + std::to_string(found.size()) + " elements in use, not " +
                  std::to_string(golden.size()));
  const std::size_t both = std::min(golden.size(), found.size());
  for (std::size_t i = 0; i < both; ++i)
    if (golden[i] != found[i]) {
      out.push_back(key + "[" + std::to_string(i) + "] is " + found[i].dump() + ", not " +
                    golden[i].dump());
      return;
    }
}

// The last word of a golden refusal is the offending value.
std::vector<std::string> compare_refusal(const std::string& golden, const json& result) {
  const std::string value = golden.substr(golden.rfind(' ') + 1);
  if (!result.contains("error")) return {"planned, but " + golden + " is to be refused"};
  const auto sentence = result["error"].get<std::string>();
  if (sentence.find(value) == std::string::npos)
    return {"the refusal does not name " + value + ": " + sentence};
  return {};
}

}  // namespace

json load(const std::string& name) {
  std::ifstream file(std::string(MLA_FIXTURES) + "/golden/" + name + ".json");
  json parsed = json::parse(file, nullptr, false);
  INFO("fixtures/golden/" << name << ".json");
  REQUIRE_FALSE(parsed.is_discarded());
  return parsed;
}

std::vector<std::string> differences(const json& golden, const json& result,
                                     const std::string& expected) {
  if (golden.at("name") != result.at("name"))
    return {"answers " + result["name"].dump() + " instead of " + golden["name"].dump()};
  if (golden.contains("error")) return compare_refusal(golden["error"], result);
  if (result.contains("error")) return {"refused: " + result["error"].get<std::string>()};
  std::vector<std::string> out;
  if (golden.at("buffer_sizes") != result.at("buffer_sizes"))
    out.push_back("buffer_sizes are " + result["buffer_sizes"].dump());
  if (result.contains("overruns")) out.push_back("overruns " + result["overruns"].dump());
  const bool zero_tail_cut = golden.contains("pages_kv_indptr");
  for (const std::string& key : kArrays) {
    const json& found = result.at(key);
    compare_lists(key, golden.at(expected).at(key),
                  zero_tail_cut ? without_zero_tail(found) : found, out);
  }
  return out;
}

}  // namespace mla::golden
