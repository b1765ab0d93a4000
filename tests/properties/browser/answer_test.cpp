#include "properties/browser/answer.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using mla::browser::answer_case;
using mla::browser::answer_files;
using nlohmann::json;

namespace {

constexpr const char* kCase = "mla1:2q4s900_1q1s513;heads=8;block=16;cu=4";

}  // namespace

TEST_CASE("a case is answered with its verdict, both texts and a page") {
  const json answer = json::parse(answer_case(kCase, 0));
  CHECK(answer["state"] == "valid");
  CHECK(answer["steps"] == 1);
  CHECK(answer["plan"].get<std::string>().find("works: 6 on 4 of 4 slots") != std::string::npos);
  CHECK(answer["check"].get<std::string>().find("1 valid, 0 broken") != std::string::npos);
  CHECK(answer["page"].get<std::string>().find("<span>mla-testbed show &#39;mla1:2q4s900") !=
        std::string::npos);
}

TEST_CASE("a step is one of the case's") {
  const std::string line = "mla1:4q1s1k+2q1s1k;heads=8;cu=4";
  CHECK(json::parse(answer_case(line, 1))["step"] == 1);
  CHECK(json::parse(answer_case(line, 2))["error"] == "step is 2 of 2, counted from 0");
  CHECK(json::parse(answer_case(line, -1))["error"] == "step is -1 of 2, counted from 0");
}

TEST_CASE("a case that needs much memory is refused with its need") {
  const json answer = json::parse(answer_case("mla1:65536q1s4k;heads=16", 0));
  const auto error = answer.value("error", std::string());
  CHECK(error.find("GiB of memory; 256 MiB are what this page takes") != std::string::npos);
}

TEST_CASE("files are a bundle, or one document, or refused") {
  const json one = json::parse(answer_files("a.json", {{"a.json", "{\"cases\": 3}"}}, 0));
  CHECK(one["error"] == "'a.json': key 'cases' is 3: it must be a list of plans");
  const json absent = json::parse(answer_files(
      "dump",
      {{"manifest.json",
        R"({"format": "mla-testbed bundle 1", "arrays": {"kv_indices": {"file": "k.npy"}}})"}},
      0));
  CHECK(absent["error"] ==
        "the bundle 'dump' is incomplete: array 'kv_indices': the folder has no file 'k.npy'");
  const json two = json::parse(answer_files("dump", {{"a.npy", ""}, {"b.npy", ""}}, 0));
  CHECK(two["error"].get<std::string>().find("has 2 files and no manifest.json") !=
        std::string::npos);
}
