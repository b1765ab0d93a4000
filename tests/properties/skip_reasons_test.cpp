// Claims about the reasons of skips: the one that is shown, and that the order does not matter.
#include "properties/judge/skip_reasons.hpp"

#include "tests/catch.hpp"

using namespace mla::prop;

TEST_CASE("skip reasons: the most frequent refusal is shown, with its number", "[judge]") {
  SkipReasons reasons;
  CHECK(reasons.most_telling().cases == 0);
  for (int i = 0; i < 9; ++i)
    reasons.note(i, Verdict::not_applicable, "the claim says nothing about decode steps");
  CHECK(reasons.most_telling().cases == 9);
  reasons.note(9, Verdict::skip, "rare");
  reasons.note(10, Verdict::skip, "frequent");
  reasons.note(11, Verdict::skip, "frequent");
  CHECK(reasons.most_telling().reason == "frequent");
  CHECK(reasons.most_telling().cases == 2);
  CHECK(reasons.first().reason == "the claim says nothing about decode steps");
}

TEST_CASE("skip reasons: of two that are as frequent, that of the lower case is shown", "[judge]") {
  SkipReasons reasons;
  reasons.note(7, Verdict::skip, "a");
  reasons.note(5, Verdict::skip, "b");
  CHECK(reasons.most_telling().reason == "b");
  reasons.note(3, Verdict::skip, "a");
  reasons.note(4, Verdict::skip, "b");
  CHECK(reasons.most_telling().reason == "a");
}
