// Claims about lists that agree with each other, held against the scheduler's lengths and blocks.
#include <algorithm>
#include <tuple>

#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using mla::dump::test::launched;
using mla::dump::test::refusal;
using mla::test::contains;
using nlohmann::json;

namespace {

// Requests of 2 rows, 80 and 35 keys, in pages of 16 and blocks of 32; planned and launched.
json step() {
  json out = launched(-1, {{"seqlens_kv_indptr", {0, 5, 8}},
                           {"kv_last_page_lens", {16, 3}},
                           {"page_size", 16},
                           {"num_pages", 100},
                           {"launch_page_size", 16},
                           {"prefix_caching", true},
                           {"kv_indices", {8, 9, 2, 3, 14, 6, 7, 20}}});
  out["scheduler_seq_lens"] = {80, 35};
  out["scheduler_query_lens"] = {2, 2};
  out["scheduler_block_size"] = 32;
  out["scheduler_block_table"] = {4, 1, 7, 3, 10, 0};
  return out;
}

Answer checked(const json& object) {
  const auto dump = read_dump(object, 0);
  REQUIRE(dump.ok());
  auto answer = check(*dump);
  REQUIRE(answer.ok());
  return *answer;
}

// What was found, each by the rule "schedule", and blamed on the builder.
std::vector<std::string> found(const json& object) {
  const Answer answer = checked(object);
  std::vector<std::string> out;
  for (const Finding& finding : answer.findings) {
    CHECK(finding.rule == "schedule");
    out.push_back(finding.what);
  }
  CHECK((out.empty() || answer.culprit == "the builder"));
  return out;
}

using Sentences = std::vector<std::string>;

}  // namespace

TEST_CASE("schedule: lists of the scheduler's step have no finding", "[cli][check]") {
  CHECK(found(step()).empty());
  CHECK(checked(step()).not_checked.empty());
}

TEST_CASE("schedule: exchanged pages of two requests are named, with whose they are",
          "[cli][check]") {
  json swapped = step();
  swapped["kv_indices"] = {6, 7, 2, 3, 14, 8, 9, 20};
  CHECK(found(swapped) ==
        Sentences{"page 0 of request 0 is 6 in kv_indices, the scheduler's block table has 8, "
                  "and this one for request 1",
                  "page 0 of request 1 is 8 in kv_indices, the scheduler's block table has 6, "
                  "and this one for request 0"});
  json own = step();
  own["kv_indices"][4] = 2;
  own["kv_indices"][2] = 14;
  REQUIRE(found(own).size() == 1);
  CHECK_THAT(found(own)[0], contains("page 2 of request 0 is 14 in kv_indices"));
  CHECK_THAT(found(own)[0], contains("has 2, and this one as its page 4"));
  json nobodys = step();
  nobodys["kv_indices"][7] = 99;
  CHECK(found(nobodys) ==
        Sentences{"page 2 of request 1 is 99 in kv_indices, the scheduler's block table has 20"});
}

TEST_CASE("schedule: page ids that only the launch has are held against the block table",
          "[cli][check]") {
  json launch_only = step();
  launch_only["launch_kv_indices"] = launch_only["kv_indices"];
  launch_only.erase("kv_indices");
  CHECK(found(launch_only).empty());
  launch_only["launch_kv_indices"][0] = 9;
  CHECK(found(launch_only).size() == 1);
}

TEST_CASE("schedule: lists are not held against it for what only a launch was told",
          "[cli][check]") {
  json other = step();
  other["launch_page_size"] = 32;
  CHECK(found(other).empty());
}

TEST_CASE("schedule: rows and keys of each request are the scheduler's", "[cli][check]") {
  json rows = step();
  rows["scheduler_query_lens"] = {1, 2};
  CHECK(found(rows) == Sentences{"request 0 has 2 rows in seqlens_qo_indptr, the scheduler gave it "
                                 "1"});
  json keys = step();
  keys["scheduler_seq_lens"] = {80, 36};
  CHECK(found(keys) == Sentences{"request 1 has 35 keys in seqlens_kv_indptr and "
                                 "kv_last_page_lens, the scheduler gave it 36"});
  json none = step();
  none["scheduler_seq_lens"] = {80, 0};
  CHECK(found(none).size() == 1);
  json unknown = step();
  unknown.erase("scheduler_query_lens");
  CHECK(found(unknown).empty());
}

TEST_CASE("schedule: requests that the lists lack are a finding, more are padding",
          "[cli][check]") {
  json fewer = step();
  fewer["scheduler_seq_lens"] = {80, 35, 7};
  fewer["scheduler_query_lens"] = {2, 2, 1};
  fewer["scheduler_block_table"] = {4, 1, 7, 3, 10, 0, 11, 0, 0};
  CHECK(found(fewer) == Sentences{"seqlens_qo_indptr is for 2 requests, the scheduler has 3"});
  json padded = step();
  padded["scheduler_seq_lens"] = {80};
  padded["scheduler_query_lens"] = {2};
  padded["scheduler_block_table"] = {4, 1, 7};
  CHECK(found(padded).empty());
  const auto notes = checked(padded).notes;
  CHECK(std::ranges::count(notes,
                           "1 of 2 requests are not the scheduler's: the padding of a graph") == 1);
}

TEST_CASE("schedule: a table of tokens is held against pages of several", "[cli][check]") {
  json tokens = step();
  tokens["scheduler_block_size"] = 1;
  json table = json::array();
  for (const auto& [pages, width] : {std::pair(std::vector{8, 9, 2, 3, 14}, 80), {{6, 7, 20}, 80}})
    for (int token = 0; token < width; ++token) {
      const auto page = static_cast<std::size_t>(token / 16);
      table.push_back(page < pages.size() ? 16 * pages[page] + token % 16 : 0);
    }
  tokens["scheduler_block_table"] = table;
  CHECK(found(tokens).empty());
  tokens["scheduler_block_table"][16] = 9 * 16 + 1;
  CHECK(found(tokens) ==
        Sentences{"page 1 of request 0 is 9 in kv_indices, the scheduler's block table has slot "
                  "145, where no page of 16 tokens begins"});
}

TEST_CASE("schedule: requests without rows and keys are padding, whatever the lists give them",
          "[cli][check]") {
  json padding = step();
  padding["scheduler_seq_lens"] = {80, 0};
  padding["scheduler_query_lens"] = {2, 0};
  padding["scheduler_block_table"] = {4, 1, 7, 0, 0, 0};
  CHECK(found(padding).empty());
}

TEST_CASE("schedule: a block table too narrow for the pages is a finding", "[cli][check]") {
  json narrow = step();
  narrow["scheduler_block_table"] = {4, 1, 3, 10};
  CHECK(found(narrow) == Sentences{"request 0 has 5 pages, the scheduler's block table 2 blocks of "
                                   "32 tokens"});
}

TEST_CASE("schedule: blocks that are no whole pages, and the lists of a rank, are notes",
          "[cli][check]") {
  json odd = step();
  odd["scheduler_block_size"] = 24;
  CHECK(found(odd).empty());
  CHECK_THAT(checked(odd).notes.back() + checked(odd).notes.front(),
             contains("blocks of 24 tokens and pages of 16 do not fit"));
  json rank = step();
  rank["launch_cp_world_size"] = 2;
  rank["scheduler_seq_lens"] = {160, 70};
  std::string all;
  for (const std::string& note : checked(rank).notes) all += note + "\n";
  CHECK_THAT(all, contains("the lists are those of a rank"));
}

TEST_CASE("schedule: numbers and lists that no scheduler has are refused with their key",
          "[cli][check]") {
  const std::vector<std::tuple<const char*, json, const char*>> wrong = {
      {"scheduler_seq_lens", {80, -1}, "has -1 for request 1"},
      {"scheduler_query_lens", {2, 2, 2}, "has 3 entries, scheduler_seq_lens has 2"},
      {"scheduler_query_lens", {2, -2}, "has -2 for request 1"},
      {"scheduler_block_table", {1, 2, 3}, "has 3 entries, which are no rows of 2 requests"},
      {"scheduler_block_size", 0, "is 0: expected 1 or more"},
      {"scheduler_block_size", "all", "it must be a 32-bit integer"}};
  for (const auto& [key, value, why] : wrong) {
    json object = step();
    object[key] = value;
    CHECK_THAT(refusal(object), contains(key));
    CHECK_THAT(refusal(object), contains(why));
  }
  json alone = step();
  alone.erase("scheduler_seq_lens");
  CHECK_THAT(refusal(alone), contains("says nothing without 'scheduler_seq_lens'"));
}
