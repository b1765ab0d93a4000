#include "properties/cli/progress.hpp"

#include "tests/catch.hpp"

using mla::cli::progress_line;
using namespace std::chrono_literals;

TEST_CASE("progress: the bar follows the cases, or the time when there is a limit", "[cli]") {
  CHECK(progress_line({.judged = 940, .wanted = 2000, .elapsed = 12s, .limit = {}}) ==
        "[=========>          ]  47 %  940/2000 cases  12 s, 78/s, 14 s left");
  CHECK(progress_line({.judged = 2000, .wanted = 2000, .elapsed = 30s, .limit = {}}) ==
        "[====================] 100 %  2000/2000 cases  30 s, 67/s");
  CHECK(progress_line({.judged = 7, .wanted = 0, .elapsed = 15s, .limit = 60s}) ==
        "[=====>              ]  25 %  7 cases  15 s, 2.1 s each, 45 s left");
  // Late cases do not push the bar over its end.
  CHECK(progress_line({.judged = 9, .wanted = 0, .elapsed = 90s, .limit = 60s}) ==
        "[====================] 100 %  9 cases  90 s, 10.0 s each");
  CHECK(progress_line({.judged = 3, .wanted = 0, .elapsed = 1s, .limit = {}}) ==
        "3 cases  1 s, 3.0/s");
  CHECK(
      progress_line({.unit = "properties", .judged = 3, .wanted = 4, .elapsed = 1s, .limit = {}}) ==
      "[===============>    ]  75 %  3/4 properties  1 s, 3.0/s, 0 s left");
}

TEST_CASE("progress: long times are minutes and hours, and the first second promises nothing",
          "[cli]") {
  CHECK(progress_line({.judged = 1, .wanted = 61, .elapsed = 10s, .limit = {}}) ==
        "[>                   ]   1 %  1/61 cases  10 s, 10.0 s each, 10 min left");
  CHECK(progress_line({.judged = 1, .wanted = 3601, .elapsed = 10s, .limit = {}}) ==
        "[>                   ]   0 %  1/3601 cases  10 s, 10.0 s each, 10.0 h left");
  CHECK(progress_line({.judged = 5, .wanted = 10, .elapsed = 999ms, .limit = {}}) ==
        "[==========>         ]  50 %  5/10 cases  0 s");
  CHECK(progress_line({.judged = 0, .wanted = 10, .elapsed = 9s, .limit = {}}) ==
        "[>                   ]   0 %  0/10 cases  9 s");
}

TEST_CASE("progress: the line is narrower than the terminal", "[cli]") {
  mla::cli::ProgressState state{.judged = 940, .wanted = 2000, .elapsed = 12s, .limit = {}};
  const std::string whole = progress_line(state);
  for (const std::size_t columns : {1U, 2U, 10U, 40U, 60U, 61U, 200U}) {
    state.columns = columns;
    CHECK(progress_line(state).size() < columns);
  }
  state.columns = whole.size() + 1;
  CHECK(progress_line(state) == whole);
  state.columns = whole.size();
  CHECK(progress_line(state) == " 47 %  940/2000 cases  12 s, 78/s, 14 s left");
  state.columns = 8;
  CHECK(progress_line(state) == " 47 %  ");
}
