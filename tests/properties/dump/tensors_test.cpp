// Claims about what `check` says of the tensors of a bundle: their rows, and the pages of its
// cache.
#include <algorithm>
#include <cstdint>

#include "tests/properties/dump/launched_step.hpp"

using namespace mla;
using namespace mla::dump;
using namespace mla::dump::test;
using mla::test::contains;

namespace {

io::RawArray array_of(std::int64_t width, const std::vector<std::int64_t>& shape) {
  std::int64_t bytes = width;
  for (const std::int64_t n : shape) bytes *= n;
  return {.kind = io::ElementKind::unsigned_integer,
          .width = width,
          .shape = shape,
          .bytes = std::vector<std::byte>(static_cast<std::size_t>(bytes))};
}

io::RawArray pages_of(const std::vector<std::int32_t>& ids) {
  return io::raw_words(ids);
}

// Two requests of 2 rows of 16 heads and 500 keys, with the tensors of `arrays`.
Answer with_tensors(const std::map<std::string, io::RawArray>& arrays,
                    const json& step = launched()) {
  const nlohmann::ordered_json scalars = nlohmann::ordered_json::parse(step.dump());
  const auto dump =
      read_dump(Bundle{std::make_shared<const nlohmann::ordered_json>(scalars), arrays});
  REQUIRE(dump.ok());
  const auto answer = check(*dump);
  REQUIRE(answer.ok());
  return *answer;
}

bool says(const std::vector<std::string>& notes, const std::string& what) {
  return std::ranges::any_of(notes, [&](const std::string& n) { return n.find(what) != n.npos; });
}

}  // namespace

TEST_CASE("check: Q, output and LSE have the rows of the batch", "[cli][check]") {
  const Answer sound = with_tensors({{"q", array_of(2, {4, 16, 576})},
                                     {"out", array_of(2, {4, 16, 512})},
                                     {"lse", array_of(4, {4, 16})}});
  CHECK(sound.findings.empty());
  CHECK(sound.notes.empty());
  const Answer fewer = with_tensors({{"q", array_of(2, {3, 16, 576})}});
  REQUIRE(fewer.findings.size() == 1);
  CHECK(fewer.findings[0].rule == kBatchRule);
  CHECK(fewer.findings[0].what == "q has 3 rows, seqlens_qo_indptr is for 4");
  CHECK(fewer.culprit == "the builder");
  CHECK(with_tensors({{"out", array_of(2, {2, 16, 512})}}).findings[0].what ==
        "out has 2 rows, seqlens_qo_indptr is for 4");
  CHECK(with_tensors({{"lse", array_of(4, {1, 16})}}).findings.size() == 1);
  const Answer more =
      with_tensors({{"q", array_of(2, {9, 16, 576})}, {"out", array_of(2, {9, 16, 512})}});
  CHECK(more.findings.empty());
  REQUIRE(more.notes.size() == 1);
  CHECK(more.notes[0] ==
        "q has 9 rows, seqlens_qo_indptr is for 4: rows 4..9 are a graph's padding, or no work "
        "computes them");
}

TEST_CASE("check: rows of a tensor have the heads of the launch", "[cli][check]") {
  const Answer other = with_tensors({{"q", array_of(2, {4, 8, 576})}});
  REQUIRE(other.findings.size() == 1);
  CHECK(other.findings[0].what == "q has shape (4, 8, 576): expected rows of 16 heads of 576");
  CHECK(with_tensors({{"q", array_of(2, {16, 4, 576})}}).findings.size() == 1);
  CHECK(with_tensors({{"q", array_of(2, {4, 16 * 576})}}).findings.empty());
  CHECK(with_tensors({{"q", array_of(2, {4 * 16 * 576})}}).findings.empty());
}

TEST_CASE("check: Q and cache have the dtypes of the plan", "[cli][check]") {
  const Answer wide = with_tensors({{"kv_cache", array_of(4, {9, 1, 576})}});
  REQUIRE(wide.findings.size() == 1);
  CHECK(wide.findings[0].rule == kBatchRule);
  CHECK(wide.findings[0].what ==
        "array 'kv_cache' has elements of 32 bits, not of 16; dtype_kv is bf16");
  CHECK(wide.culprit == "the builder");
  CHECK(wide.diagnosis == "tensors do not have the dtypes of the plan");
  json step = launched();
  step["dtype_kv"] = "fp8";
  const auto narrow = with_tensors({{"kv_cache", array_of(2, {9, 1, 576})}}, step).findings;
  REQUIRE_FALSE(narrow.empty());
  CHECK(narrow.back().what ==
        "array 'kv_cache' has elements of 16 bits, not of 8; dtype_kv is fp8");
  // The launch says otherwise than the planner was told, and is right.
  step["launch_dtype_kv"] = "bf16";
  for (const Finding& f : with_tensors({{"kv_cache", array_of(2, {9, 1, 576})}}, step).findings)
    CHECK_THAT(f.what, !contains("has elements of"));
  io::RawArray floats = array_of(2, {4, 16, 576});
  floats.kind = io::ElementKind::floating;
  CHECK(with_tensors({{"q", floats}}).findings.size() == 1);
}

TEST_CASE("check: page ids are held against a cache that was dumped whole", "[cli][check]") {
  json step = launched(-1, {{"seqlens_kv_indptr", {0, 2, 4}}, {"kv_indices", {5, 1, 2, 3}}});
  const io::RawArray cache = array_of(2, {5, 1, 576});
  const Answer beyond = with_tensors({{"kv_cache", cache}}, step);
  REQUIRE(beyond.findings.size() == 1);
  CHECK_THAT(beyond.findings[0].what,
             contains("page 0 of request 0 is 5 in kv_indices, and the cache has 5 pages"));
  CHECK(with_tensors({{"kv_cache", array_of(2, {6, 1, 576})}}, step).findings.empty());
  // Of some pages of it, a page that is not among them is said.
  const Answer some =
      with_tensors({{"kv_cache", cache}, {"kv_cache_pages", pages_of({1, 2, 3, 6, 7})}}, step);
  CHECK(some.findings.empty());
  CHECK(says(some.notes,
             "page 0 of request 0 is 5 in kv_indices, and not among the 5 of kv_cache_pages: it "
             "lies outside of the cache, or the dump is incomplete"));
  const Answer all =
      with_tensors({{"kv_cache", cache}, {"kv_cache_pages", pages_of({1, 2, 3, 5, 7})}}, step);
  CHECK(all.notes.empty());
  CHECK(says(with_tensors({}, step).notes, "num_pages is not given"));
}

TEST_CASE("check: a call that does not say whether it is causal is one, and that is noted",
          "[cli][check]") {
  json step = launched();
  step.erase("is_causal");
  const Answer answer = checked(step);
  CHECK(answer.findings.empty());
  REQUIRE(answer.notes.size() == 1);
  CHECK(answer.notes[0] == "is_causal is not given: judged as a causal step");
}

TEST_CASE("check: a step without a row is noted, and no other is", "[cli][check]") {
  json step = launched();
  step["seqlens_qo_indptr"] = step["seqlens_kv_indptr"] = {0};
  step["kv_last_page_lens"] = json::array();
  step["work_indptr"] = std::vector<int>(5, 0);
  step["work_info"] = step["reduce_final_map"] = step["reduce_partial_map"] = json::array();
  step["reduce_indptr"] = {0, 0, 0};
  for (const char* key : kBuffers) step.erase(std::string("launch_") + key);
  for (const char* key : kLists) step.erase(std::string("launch_") + key);
  const Answer answer = checked(step);
  CHECK(answer.findings.empty());
  CHECK(says(answer.notes, "no request has a row: nothing is judged"));
  CHECK_FALSE(says(checked(launched()).notes, "no request has a row"));
}

TEST_CASE("check: what the launch alone says of page ids is noted too", "[cli][check]") {
  json step = launched(-1, {{"seqlens_kv_indptr", {0, 2, 4}}});
  step["launch_kv_indices"] = {5, 0, 2, 3};
  step["num_pages"] = 9;
  CHECK(says(checked(step).notes, "page 1 of request 0 is 0 in kv_indices"));
}
