// Claims about suggestions: likely slips find their word, other words find none.
#include "core/suggest.hpp"

#include <array>

#include "tests/catch.hpp"

using namespace mla;

namespace {

constexpr std::array<std::string_view, 9> kWords = {
    "heads", "kvheads", "page_size", "replay", "run", "P01", "P05", "P15", "plan_coverage"};

}  // namespace

TEST_CASE("suggest: one slip of each sort finds the word", "[suggest]") {
  CHECK(nearest_word("haeds", kWords) == "heads");   // swapped
  CHECK(nearest_word("headss", kWords) == "heads");  // one more
  CHECK(nearest_word("eads", kWords) == "heads");    // one less
  CHECK(nearest_word("heacs", kWords) == "heads");   // another
  CHECK(nearest_word("HEADS", kWords) == "heads");   // case
  CHECK(nearest_word("pagesize", kWords) == "page_size");
  CHECK(nearest_word("replya", kWords) == "replay");
  CHECK(nearest_word("rnu", kWords) == "run");
  CHECK(nearest_word("plan_coverge", kWords) == "plan_coverage");
  CHECK(nearest_word("plancovrage", kWords) == "plan_coverage");
}

TEST_CASE("suggest: a digit is left out, never taken for another", "[suggest]") {
  CHECK(nearest_word("P5", kWords) == "P05");
  CHECK(nearest_word("p05", kWords) == "P05");
  CHECK(nearest_word("P99", kWords).empty());
  CHECK(nearest_word("P10", kWords).empty());
}

TEST_CASE("suggest: words that are not near get no suggestion", "[suggest]") {
  CHECK(nearest_word("granularity", kWords).empty());
  CHECK(nearest_word("", kWords).empty());
  CHECK(nearest_word("r", kWords).empty());
  CHECK(nearest_word("heads", {}).empty());
  CHECK(nearest_word(std::string(100000, 'h'), kWords).empty());
}

TEST_CASE("suggest: the sentence's end names the word, or is empty", "[suggest]") {
  CHECK(did_you_mean("haeds", kWords) == "; did you mean 'heads'?");
  CHECK(did_you_mean("window", kWords).empty());
  CHECK(did_you_mean_or_all("haeds", kWords) == "; did you mean 'heads'?");
  CHECK(did_you_mean_or_all("window", std::array<std::string_view, 2>{"a", "b"}) ==
        "; there are a, b");
}
