// The words of --checks, --schedule and --arrival: each value comes back from its own words.
#include "hip_backend/gfx_emulator/run/run_words.hpp"

#include "tests/catch.hpp"

using namespace mla::gfx;

TEST_CASE("schedules are what their words say, and give the same words") {
  for (const char* words :
       {"slice=4", "slice=0", "slice=64,order=shuffled.7", "slice=1,order=reverse"})
    CHECK(words_of(*schedule_from("--schedule", words)) == words);
  const auto shuffled = schedule_from("--schedule", "order=shuffled.9");
  REQUIRE(shuffled);
  CHECK(shuffled->order == Order::random);
  CHECK(shuffled->seed == 9);
  CHECK(shuffled->slice == 4);
  CHECK(words_of(*schedule_from("--schedule", "order=in-turn")) == "slice=4");
}

TEST_CASE("arrivals are what their words say, and give the same words") {
  for (const char* words : {"early", "late", "random.18446744073709551615", "after.12"})
    CHECK(words_of(*arrival_from("--arrival", words)) == words);
  CHECK((*arrival_from("--arrival", "random.5")).mode == Arrival::Mode::random);
  CHECK((*arrival_from("--arrival", "after.5")).mode == Arrival::Mode::after);
  CHECK_FALSE(arrival_from("--arrival", "random.18446744073709551616"));
}

TEST_CASE("checks are what their words say, and give the same words") {
  for (const char* words :
       {"waits", "waits,lds,barriers", "global,dropped,banks", "lanes,same-barrier,coherence"})
    CHECK(words_of(*checks_from("--checks", words)) == words);
  CHECK(words_of(*checks_from("--checks", "all")) == "waits,lds,global,uninitialised,barriers");
  // No words are the default, whose own words mean the same.
  CHECK(words_of(*checks_from("--checks", "")) == "barriers");
  CHECK_FALSE((*checks_from("--checks", "waits")).barriers);
}

TEST_CASE("matrix products are fast or exact, and nothing else") {
  CHECK(words_of(*matrix_from("--matrix", "exact")) == "exact");
  CHECK(words_of(*matrix_from("--matrix", "")) == "fast");
  CHECK(matrix_from("MODE", "precise").error().message ==
        "MODE has value 'precise': expected fast or exact");
}
