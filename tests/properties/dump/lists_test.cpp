// Claims about the lists of a batch: which page ids and lengths no step can have, and what a bundle
// says about its cache.
#include "properties/dump/check/lists.hpp"

#include <limits>
#include <tuple>

#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using mla::dump::test::refusal;
using mla::test::contains;
using nlohmann::json;

namespace {

// Two requests of 2 rows and 6 and 4 pages, none of them shared.
json call() {
  return {{"arch", "gfx942"},
          {"num_cu", 4},
          {"seqlens_qo_indptr", {0, 2, 4}},
          {"seqlens_kv_indptr", {0, 6, 10}},
          {"kv_last_page_lens", {16, 3}},
          {"num_heads_per_head_k", 16},
          {"num_heads_k", 1},
          {"is_causal", true},
          {"page_size", 16},
          {"max_seqlen_qo", 2},
          {"num_pages", 1000000000},
          {"kv_indices", {7, 3, 9, 15, 4, 12, 5, 6, 1, 2}}};
}

ListFindings findings(const json& object) {
  const auto dump = read_dump(object, 0);
  REQUIRE(dump.ok());
  const Planning& planned = std::get<DecodeDump>(dump->step).planned;
  auto lists = check_lists(planned.call, planned.cache);
  REQUIRE(lists.ok());
  return *lists;
}

// The only violation of the call with `value` at `place` of kv_indices.
std::string violation(json object, std::size_t place, std::int64_t value) {
  object["kv_indices"][place] = value;
  const ListFindings lists = findings(object);
  REQUIRE(lists.violations.size() == 1);
  return lists.violations[0];
}

}  // namespace

TEST_CASE("lists: a sound batch has no finding", "[cli][check]") {
  CHECK(findings(call()).violations.empty());
  CHECK(findings(call()).notes.empty());
}

TEST_CASE("lists: a live page id is not negative", "[cli][check]") {
  CHECK(violation(call(), 7, -1) == "page 1 of request 1 is -1 in kv_indices, which is negative");
  CHECK_THAT(violation(call(), 0, std::numeric_limits<std::int32_t>::min()),
             contains("page 0 of request 0 is -2147483648"));
  json several = call();
  several["kv_indices"][8] = -5;
  CHECK_THAT(violation(several, 7, -1), contains("(and 1 more)"));
}

TEST_CASE("lists: a live page id lies in the cache", "[cli][check]") {
  json pool = call();
  pool["num_pages"] = 16;
  CHECK(findings(pool).violations.empty());
  pool["num_pages"] = 15;
  CHECK(findings(pool).violations.size() == 1);
  CHECK_THAT(findings(pool).violations[0],
             contains("page 3 of request 0 is 15 in kv_indices, and the cache has 15 pages"));
  // Without a size, what no GPU can hold: 16 * 576 * 2 bytes a page.
  constexpr std::int64_t kFits = (std::int64_t{288} << 30) / (16 * 576 * 2);
  json last = call();
  last.erase("num_pages");
  CHECK_THAT(violation(last, 0, kFits), contains("more than 288 GiB into the cache"));
  CHECK_THAT(violation(last, 0, std::numeric_limits<std::int32_t>::max()), contains("2147483647"));
  last["kv_indices"][0] = kFits - 1;
  CHECK(findings(last).violations.empty());
}

TEST_CASE("lists: page 0 of an engine, which keeps it for padding, is noted", "[cli][check]") {
  const auto notes = [](const json& object) { return findings(object).notes; };
  CHECK(notes(call()).empty());
  json zero = call();
  zero["kv_indices"][7] = 0;
  REQUIRE(notes(zero).size() == 1);
  CHECK(notes(zero)[0] ==
        "page 1 of request 1 is 0 in kv_indices: vLLM and SGLang keep page 0 for padding, and a -1 "
        "of a block table that became 0 looks like this");
  zero["kv_indices"][3] = 20;
  zero["decisions"] = json::object();  // a step of ours, where page 0 is like any other
  CHECK(notes(zero).empty());
}

TEST_CASE(
    "lists: without the size of the cache, page ids are not held against it, and that is said",
    "[cli][check]") {
  json unknown = call();
  unknown.erase("num_pages");
  REQUIRE(findings(unknown).notes.size() == 1);
  CHECK(findings(unknown).notes[0] ==
        "num_pages is not given: whether page ids up to 15 lie in the cache was not checked");
  unknown.erase("kv_indices");
  CHECK(findings(unknown).notes.empty());
}

TEST_CASE("lists: entries after the live ones may hold anything", "[cli][check]") {
  json tail = call();
  for (const int value : {-1, 7, 7, 2147483647}) tail["kv_indices"].push_back(value);
  CHECK(findings(tail).violations.empty());
}

TEST_CASE("lists: fewer page ids than pages are a violation", "[cli][check]") {
  json shorter = call();
  shorter["kv_indices"].erase(9);
  REQUIRE(findings(shorter).violations.size() == 1);
  CHECK(findings(shorter).violations[0] ==
        "kv_indices has 9 entries, seqlens_kv_indptr asks for 10");
}

TEST_CASE("lists: a page stands once in a request", "[cli][check]") {
  CHECK(violation(call(), 4, 3) == "request 0 has page 3 twice, as its pages 1 and 4");
}

TEST_CASE("lists: requests share pages only where prefixes are cached", "[cli][check]") {
  json shared = call();
  shared["kv_indices"][6] = 7;
  const ListFindings unknown = findings(shared);
  CHECK(unknown.violations.empty());
  REQUIRE(unknown.notes.size() == 1);
  CHECK(unknown.notes[0] == "requests 0 and 1 share page 7");
  shared["prefix_caching"] = true;
  CHECK(findings(shared).violations.empty());
  shared["prefix_caching"] = false;
  REQUIRE(findings(shared).violations.size() == 1);
  CHECK(findings(shared).violations[0] ==
        "requests 0 and 1 share page 7, and the engine has no prefix caching");
  CHECK(findings(shared).notes.empty());
}

TEST_CASE("lists: a shared page that a request writes in this step is noted", "[cli][check]") {
  // The last two keys of request 0 lie in page 12, those of request 1 in page 2.
  for (const auto& [place, page] : {std::pair(6, 12), std::pair(0, 1), std::pair(0, 2)}) {
    json shared = call();
    shared["kv_indices"][static_cast<std::size_t>(place)] = page;
    const ListFindings lists = findings(shared);
    CHECK(lists.violations.empty());
    if (page == 1) {
      CHECK(lists.notes.size() == 1);
      continue;
    }
    REQUIRE(lists.notes.size() == 2);
    CHECK_THAT(lists.notes[1],
               contains("writes keys of this step into page " + std::to_string(page)));
  }
}

TEST_CASE("lists: no request has more rows than max_seqlen_qo", "[cli][check]") {
  json longer = call();
  longer["seqlens_qo_indptr"] = {0, 1, 5};
  REQUIRE(findings(longer).violations.size() == 1);
  CHECK(findings(longer).violations[0] ==
        "seqlens_qo_indptr gives request 1 4 rows, max_seqlen_qo says that the longest has 2");
  longer["max_seqlen_qo"] = 4;
  CHECK(findings(longer).violations.empty());
  longer.erase("max_seqlen_qo");
  CHECK(findings(longer).violations.empty());
}

TEST_CASE("lists: a max_seqlen_qo below 1 says nothing, as AITER's planner takes it",
          "[cli][check]") {
  for (const int untold : {0, -1, -7}) {
    json step = call();
    step["max_seqlen_qo"] = untold;
    CHECK(findings(step).violations.empty());
  }
}

TEST_CASE("lists: an unknown key is refused with a suggestion", "[cli][check]") {
  json renamed = call();
  renamed["pagesize"] = 16;
  renamed.erase("page_size");
  CHECK(refusal(renamed) == "key 'pagesize' is unknown; did you mean 'page_size'?");
  json extra = call();
  extra["kv_indice"] = json::array();
  CHECK(refusal(extra) == "key 'kv_indice' is unknown; did you mean 'kv_indices'?");
  json other = call();
  other["tensor_parallel_rank"] = 3;
  CHECK(refusal(other) == "key 'tensor_parallel_rank' is unknown");
}

TEST_CASE("lists: a request without pages has no last page, and its length may be anything",
          "[cli][check]") {
  json step = call();
  step["seqlens_kv_indptr"] = {0, 10, 10};
  for (const int last : {0, -1, 3, 17}) {
    step["kv_last_page_lens"] = {16, last};
    CHECK(findings(step).violations.empty());
  }
  step["kv_last_page_lens"] = {0, 3};
  REQUIRE(findings(step).violations.size() == 1);
  CHECK(findings(step).violations[0] == "kv_last_page_lens of request 0 is 0 with pages of 16");
}

TEST_CASE(
    "lists: sizes are at least 1, pages a power of two, and what is said about the cache has its "
    "type",
    "[cli][check]") {
  for (const auto& [key, value, why] :
       {std::tuple("num_cu", json(0), "is 0: it must be at least 1"),
        std::tuple("page_size", json(-16), "is -16: it must be at least 1"),
        std::tuple("page_size", json(3), "is 3: it must be a power of two"),
        std::tuple("num_pages", json(-1), "is -1: it must not be negative"),
        std::tuple("prefix_caching", json(0), "is 0: it must be true or false"),
        std::tuple("kv_indices", json("x"), "it must be a list of integers")}) {
    json object = call();
    object[key] = value;
    CHECK_THAT(refusal(object), contains("key '" + std::string(key) + "'"));
    CHECK_THAT(refusal(object), contains(why));
  }
}
