#include "properties/cli/progress.hpp"

#include "tests/catch.hpp"

using mla::cli::progress_line;
using namespace std::chrono_literals;

TEST_CASE("progress: the bar follows the cases, or the time when there is a limit", "[cli]") {
  CHECK(progress_line({.judged = 940, .wanted = 2000, .elapsed = 12s, .limit = {}}) ==
        "[=========>          ]  47 %  940/2000 cases  12 s");
  CHECK(progress_line({.judged = 2000, .wanted = 2000, .elapsed = 30s, .limit = {}}) ==
        "[====================] 100 %  2000/2000 cases  30 s");
  CHECK(progress_line({.judged = 7, .wanted = 0, .elapsed = 15s, .limit = 60s}) ==
        "[=====>              ]  25 %  7 cases  15 s");
  // Late cases do not push the bar over its end.
  CHECK(progress_line({.judged = 9, .wanted = 0, .elapsed = 90s, .limit = 60s}) ==
        "[====================] 100 %  9 cases  90 s");
  CHECK(progress_line({.judged = 3, .wanted = 0, .elapsed = 1s, .limit = {}}) == "3 cases  1 s");
  CHECK(
      progress_line({.unit = "properties", .judged = 3, .wanted = 4, .elapsed = 1s, .limit = {}}) ==
      "[===============>    ]  75 %  3/4 properties  1 s");
}
