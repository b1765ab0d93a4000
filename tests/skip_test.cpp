// One case that passes and one that cannot run: the executable ends with 10, not with 0.
#include "tests/skip.hpp"

#include "tests/catch.hpp"

TEST_CASE("a case that passes") {
  CHECK(mla::test::skips().empty());
}

TEST_CASE("a case that cannot run") {
  mla::test::skip("there is no such machine");
}
