// Claims about what `check` says at the numbers where its answers change.
#include <algorithm>

#include "core/case/limits.hpp"
#include "properties/dump/blame/differences.hpp"
#include "properties/dump/check/launch_arguments.hpp"
#include "properties/dump/check/lists.hpp"
#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using mla::dump::test::checked;
using mla::dump::test::launched;
using mla::test::contains;
using nlohmann::json;

namespace {

// Three requests of 1, 3 and 1 rows, with 8, 5 and 2 keys in pages of 2.
json ragged_call() {
  return {{"arch", "gfx942"},
          {"num_cu", 4},
          {"seqlens_qo_indptr", {0, 1, 4, 5}},
          {"seqlens_kv_indptr", {0, 4, 7, 8}},
          {"kv_last_page_lens", {2, 1, 2}},
          {"num_heads_per_head_k", 16},
          {"num_heads_k", 1},
          {"is_causal", true},
          {"page_size", 2},
          {"max_seqlen_qo", 3},
          {"num_pages", 100},
          {"prefix_caching", true},
          {"kv_indices", {10, 11, 12, 13, 14, 15, 16, 17}}};
}

ListFindings found_in(const json& object) {
  const auto dump = read_dump(object, 0);
  REQUIRE(dump.ok());
  const Planning& planned = std::get<DecodeDump>(dump->step).planned;
  auto lists = check_lists(planned.call, planned.cache);
  REQUIRE(lists.ok());
  return *lists;
}

// Whether a note says that `request` writes into the page that is its number `place` and is shared
// with the first page of the last request.
bool noted_as_written(std::size_t place, const std::string& request) {
  json shared = ragged_call();
  const std::size_t last = shared["kv_indices"].size() - 1;
  shared["kv_indices"][last] = shared["kv_indices"][place];
  const ListFindings lists = found_in(shared);
  CHECK(lists.violations.empty());
  // The last request writes its key into the page too, and is named after the others.
  return std::ranges::any_of(lists.notes, [&](const std::string& note) {
    return note.starts_with("request " + request + " writes keys of this step into page ");
  });
}

Result<std::int64_t> splits_of(const json& launch, std::int64_t requests = 2) {
  json object = {{"arch", "gfx950"}, {"num_cu", 4},       {"num_heads_per_head_k", 16},
                 {"num_heads_k", 1}, {"is_causal", true}, {"max_seqlen_qo", 1}};
  for (std::int64_t r = 0; r <= requests; ++r) {
    object["seqlens_qo_indptr"].push_back(r);
    object["seqlens_kv_indptr"].push_back(20 * r);
    if (r > 0) object["kv_last_page_lens"].push_back(1);
  }
  object.update(launch);
  const auto call = read_planner_call(object);
  const auto read = read_launch(object, std::nullopt);
  REQUIRE(call.ok());
  return read ? launched_splits(*call, *read, 100000) : read.error();
}

}  // namespace

TEST_CASE("lists: a page is written from the first new key of its own request on", "[cli][check]") {
  // Request 0 has 8 keys, of which the last is new: page 3 alone. Request 1 has 5 keys, of which 3
  // are new: its first page ends with the last key before them.
  CHECK_FALSE(noted_as_written(2, "0"));
  CHECK(noted_as_written(3, "0"));
  CHECK_FALSE(noted_as_written(4, "1"));
  CHECK(noted_as_written(5, "1"));
  CHECK(noted_as_written(6, "1"));
}

TEST_CASE("lists: page ids of one token are possible up to 288 GiB", "[cli][check]") {
  json call = ragged_call();
  call.update({{"page_size", 1}, {"kv_last_page_lens", {1, 1, 1}}});
  call.erase("num_pages");
  constexpr std::int64_t kFits = (std::int64_t{288} << 30) / (576 * 2);
  call["kv_indices"][0] = kFits - 1;
  CHECK(found_in(call).violations.empty());
  call["kv_indices"][0] = kFits;
  REQUIRE(found_in(call).violations.size() == 1);
  CHECK_THAT(found_in(call).violations[0], contains("more than 288 GiB"));
}

TEST_CASE("launch: of a launch with one list, or lists of two lengths, no request is unplanned",
          "[cli][check]") {
  const auto unplanned = [](const json& step) {
    const Answer answer = checked(step);
    return std::ranges::any_of(answer.notes, [](const std::string& note) {
      return note.find("the lists of the launch have a request") != std::string::npos;
    });
  };
  json step = launched();
  step["launch_seqlens_qo_indptr"].push_back(8);
  json one = step;
  one.erase("launch_seqlens_kv_indptr");
  CHECK_FALSE(unplanned(one));
  CHECK_FALSE(unplanned(step));  // the other list has no entry for the request
  json other = launched();
  other["launch_seqlens_kv_indptr"].push_back(1200);
  other.erase("launch_seqlens_qo_indptr");
  CHECK_FALSE(unplanned(other));
  step["launch_seqlens_kv_indptr"].push_back(1200);
  CHECK(unplanned(step));
}

TEST_CASE("launched call: a list of splits counts where splits are asked for, and names them all",
          "[cli][check]") {
  const auto with = [](int asked, const json& list) {
    return splits_of({{"launch_num_kv_splits", asked}, {"launch_num_kv_splits_indptr", list}});
  };
  CHECK(*with(3, {0, 3, 6}) == 3);
  CHECK(*with(3, {0, 3, 6, 9}) == 3);  // room for a request more
  for (const json& list : {json({0, 3}), json({0, 3, 5}), json({0, 2, 6}), json({1, 3, 6})})
    CHECK_THAT(with(3, list).error().message, contains("gives not every request 3 splits"));
  CHECK(*with(0, {0, 1, 2}) == *splits_of(json::object()));
}

TEST_CASE("launched call: a request has at most 64 splits", "[cli][check]") {
  CHECK(*splits_of({{"launch_num_kv_splits", kMaxKvSplits}}) == kMaxKvSplits);
  CHECK_THAT(splits_of({{"launch_num_kv_splits", kMaxKvSplits + 1}}).error().message,
             contains("is 65 without a plan: expected at most 64"));
}

TEST_CASE("launched call: one request has the splits of a batch of one", "[cli][check]") {
  CHECK(*splits_of(json::object(), 1) == 4);  // as many as there are compute units
  CHECK(*splits_of(json::object(), 2) == 2);
}

TEST_CASE("diagnosis: four damaged words are named, from the first word of a buffer on",
          "[cli][check]") {
  const auto named = [](const std::vector<std::pair<const char*, std::size_t>>& words) {
    json step = launched();
    for (const auto& [list, at] : words) step[list][at] = step[list][at].get<std::int64_t>() + 1;
    return checked(step).diagnosis;
  };
  CHECK_THAT(named({{"work_info", 0}}), contains("in one word: work 0 batch is 1, planned 0"));
  CHECK_THAT(named({{"reduce_final_map", 0}}), contains("in one word: reduce entry 0 q_begin is"));
  CHECK_THAT(named({{"reduce_partial_map", 0}}), contains("in one word: reduce_partial_map[0] is"));
  const std::vector<std::pair<const char*, std::size_t>> words = {
      {"work_info", 2}, {"work_info", 3}, {"work_info", 4}, {"work_info", 5}, {"work_info", 11}};
  REQUIRE(words.size() == kFewWords + 1);
  CHECK_THAT(named({words.begin(), words.end() - 1}), contains("in 4 words: work 0 q_begin is"));
  CHECK_THAT(named(words), contains("another step, or damaged"));
}
