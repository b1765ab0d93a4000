// Claims about JSON from outside: what nests too deeply, breaks off or contradicts itself is
// refused by every reader, in a sentence.
#include "properties/files/parse_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "properties/dump/plan/plan_json.hpp"
#include "tests/catch.hpp"

using namespace mla::files;
using mla::test::contains;

namespace {

std::string nested(std::size_t levels, char open, char close) {
  return std::string(levels, open) + std::string(levels, close);
}

std::string refusal(const std::string& text) {
  const auto parsed = parse_json(text);
  const auto ordered = parse_ordered_json(text);
  REQUIRE_FALSE(parsed.ok());
  REQUIRE_FALSE(ordered.ok());
  CHECK(parsed.error().message == ordered.error().message);
  return parsed.error().message;
}

}  // namespace

TEST_CASE("JSON from outside: 64 levels are read, 65 are not", "[cli][json]") {
  CHECK(parse_json(nested(kDeepestJson, '[', ']')).ok());
  CHECK(refusal(nested(kDeepestJson + 1, '[', ']')) ==
        "nests lists and objects 65 levels deep: at most 64 are read");
}

TEST_CASE("JSON from outside: 200,000 levels are counted, closed or not", "[cli][json]") {
  for (const std::string& text : {nested(200'000, '[', ']'), std::string(200'000, '[')})
    CHECK_THAT(refusal(text), contains("200000 levels deep"));
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  CHECK_THAT(refusal(objects), contains("200000 levels deep"));
  // Brackets in a string are none.
  CHECK(parse_json("\"" + std::string(200'000, '[') + "\"").ok());
}

TEST_CASE("JSON from outside: the place of a mistake is named", "[cli][json]") {
  CHECK(refusal("{\"a\": 1,\n \"b\": x}") == "is not JSON: it breaks at line 2, column 7");
  CHECK(refusal("") == "is not JSON: it breaks at line 1, column 1");
  CHECK_THAT(refusal("[1, 2"), contains("is not JSON"));
  CHECK_THAT(refusal("[1e999]"), contains("is not JSON"));
  CHECK_THAT(refusal("[1] x"), contains("is not JSON"));
}

TEST_CASE("JSON from outside: a NUL byte is not the end of the text", "[cli][json]") {
  using namespace std::string_literals;
  CHECK(refusal("[1]\n\0[2]"s) == "is not JSON: it breaks at line 2, column 1");
  CHECK(refusal("\0"s) == "is not JSON: it breaks at line 1, column 1");
  CHECK(refusal("[1] \0"s) == "is not JSON: it breaks at line 1, column 5");
  CHECK_THAT(refusal("[1, x, \0]"s), contains("line 1, column 5"));
}

TEST_CASE("JSON from outside: an object says each key once", "[cli][json]") {
  CHECK(refusal(R"({"page_size": 1, "page_size": 16})") ==
        "has the key 'page_size' twice in one object");
  CHECK(parse_json(R"([{"a": {"a": 1}}, {"a": 2}])").ok());
}

TEST_CASE("JSON from outside: a document of calls that nests too deeply is refused",
          "[cli][json][plan]") {
  const auto plans = mla::dump::plan_json("{\"cases\": " + nested(200'000, '[', ']') + "}", {});
  REQUIRE_FALSE(plans.ok());
  CHECK_THAT(plans.error().message, contains("200001 levels deep: at most 64"));
}
