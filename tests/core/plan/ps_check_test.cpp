// Claims about ps_check: the planner's plans are valid, and no word of one can be changed unseen.
#include "core/plan/ps_check.hpp"

#include <algorithm>
#include <limits>

#include "core/plan/ps_prefill.hpp"
#include "tests/catch.hpp"

using mla::test::contains;
using namespace mla;
using namespace mla::plan;
using Words = std::vector<std::int32_t>;

namespace {

constexpr std::int64_t kTileRows = 32;
constexpr std::int64_t kBlock = 16;
constexpr std::size_t kKvEnd = 5;
constexpr std::size_t kKvOffset = 6;

// A batch, its plan, and the plan's buffers as words that a test may change.
struct Step : PlanLists<Words> {
  Words qo_indptr = {0};
  Words kv_indptr = {0};
  Words context_lens;
  PsInput call;
  std::int64_t most_pieces = -1;

  Step(const Words& rows, const Words& contexts, ComputeUnits units, Heads heads, bool causal)
      : context_lens(contexts) {
    std::int64_t longest = 1;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      qo_indptr.push_back(qo_indptr.back() + rows[r]);
      kv_indptr.push_back(kv_indptr.back() +
                          static_cast<std::int32_t>(ceil_div(contexts[r], kBlock)));
      longest = std::max<std::int64_t>(longest, rows[r]);
    }
    call = {.compute_units = units,
            .kv_heads = heads,
            .qo_indptr = qo_indptr,
            .kv_indptr = kv_indptr,
            .context_lens = context_lens,
            .qhead_granularity = 2,
            .qlen_granularity = kTileRows,
            .kvlen_granularity = kBlock,
            .block_size = kBlock,
            .causal = causal};
    const auto sizes = query_ps_sizes({.compute_units = units,
                                       .batch = Requests(std::ssize(rows)),
                                       .kv_heads = heads,
                                       .max_qo_len = longest,
                                       .qlen_granularity = kTileRows});
    REQUIRE(sizes.ok());
    const auto plan = plan_ps_prefill(call, *sizes);
    REQUIRE(plan.ok());
    lists() = lists_of(*plan, [](const char*, const PlanBuffer& b) {
      return Words(b.data().begin(), b.data().end());
    });
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  [[nodiscard]] std::vector<Violation> violations() const {
    return ps_check({.plan = PlanView(*this),
                     .qo_indptr = qo_indptr,
                     .kv_indptr = kv_indptr,
                     .context_lens = context_lens,
                     .heads = call.kv_heads * call.qhead_granularity,
                     .qhead_granularity = call.qhead_granularity,
                     .qlen_granularity = call.qlen_granularity,
                     .block_size = call.block_size,
                     .causal = call.causal,
                     .most_pieces = most_pieces});
  }
  // Places among the first `live` words that can be set to another value without a violation.
  [[nodiscard]] std::vector<std::size_t> unseen(Words& words, std::size_t live,
                                                bool work_items = false) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < live; ++i) {
      const std::int32_t was = words[i];
      for (const std::int32_t value : {was + 1, was - 1, -1, std::numeric_limits<int>::max(),
                                       std::numeric_limits<int>::min()}) {
        if (value == was || (work_items && may_be(i % kWorkItemWords, was, value))) continue;
        words[i] = value;
        if (violations().empty()) out.push_back(i);
      }
      words[i] = was;
    }
    return out;
  }
  // The kernels mask pages after those that a tile sees, and find out by themselves where a piece
  // lies in its request.
  static bool may_be(std::size_t word, std::int32_t was, std::int32_t value) {
    return word == kKvOffset || (word == kKvEnd && value == was + 1);
  }
};

struct Shape {
  Words rows, contexts;
  std::int64_t units, heads;
  bool causal;
};

const std::vector<Shape> kShapes = {{{64}, {64}, 3, 1, true},
                                    {{100, 1, 33}, {100, 400, 90}, 8, 3, true},
                                    {{100, 7}, {300, 64}, 5, 2, false},
                                    {{500}, {2000}, 16, 4, true}};

}  // namespace

TEST_CASE("ps_check: the planner's plans are valid", "[plan][ps]") {
  for (const Shape& s : kShapes) {
    const Step step(s.rows, s.contexts, ComputeUnits(s.units), Heads(s.heads), s.causal);
    for (const Violation& v : step.violations()) FAIL_CHECK(v.what);
  }
}

TEST_CASE("ps_check: no live word of a plan changes unseen, but for kv_offset and one page more",
          "[plan][ps]") {
  for (const Shape& s : kShapes) {
    Step step(s.rows, s.contexts, ComputeUnits(s.units), Heads(s.heads), s.causal);
    const auto works = static_cast<std::size_t>(step.work_indptr.back());
    const auto merged = static_cast<std::size_t>(step.reduce_indptr.back());
    std::size_t tiles = 0;
    while (step.reduce_indptr[tiles] < step.reduce_indptr.back()) ++tiles;
    REQUIRE(works > 0);
    REQUIRE(merged > 1);
    CHECK(step.unseen(step.work_info, works * kWorkItemWords, true).empty());
    CHECK(step.unseen(step.reduce_final_map, 2 * tiles).empty());
    CHECK(step.unseen(step.reduce_partial_map, merged).empty());
    CHECK(step.unseen(step.reduce_indptr, tiles + 1).empty());
  }
}

namespace {

// Two requests of ten rows, two groups of heads; the second request is cut in two pieces.
struct CutStep : Step {
  explicit CutStep(bool causal = true)
      : Step({10, 10}, {112, 208}, ComputeUnits(4), Heads(2), causal) {
    work_indptr = {0, 6, 6, 6, 6};
    work_info.clear();
    for (const Words& work : {Words{0, -1, 0, 10, 0, 7, 0, kFirst},
                              {0, -1, 0, 10, 0, 7, 0, kSecond},
                              {1, 0, 10, 20, 7, 15, 5, kFirst},
                              {1, 32, 10, 20, 15, 20, 0, kFirst},
                              {1, 0, 10, 20, 7, 15, 5, kSecond},
                              {1, 32, 10, 20, 15, 20, 0, kSecond}})
      work_info.insert(work_info.end(), work.begin(), work.end());
    reduce_indptr = {0, 2, 2};
    reduce_final_map = {10, 20, 0, 0};
    reduce_partial_map = {0, 32};
  }
  static constexpr std::int32_t kFirst = 2 << 16;       // heads 0 and 1
  static constexpr std::int32_t kSecond = 4 << 16 | 2;  // heads 2 and 3
  [[nodiscard]] std::string first_violation() const {
    const auto all = violations();
    return all.empty() ? "valid" : all.front().what;
  }
};

}  // namespace

TEST_CASE("ps_check: a piece may run before the piece with the keys before its own", "[plan][ps]") {
  CutStep step;
  for (const std::ptrdiff_t work : {2, 4}) {
    const auto first = step.work_info.begin() + work * kWorkItemWords;
    std::rotate(first, first + kWorkItemWords, first + 2 * kWorkItemWords);
  }
  CHECK(step.work_info[2 * kWorkItemWords + 1] == 32);
  CHECK(step.first_violation() == "valid");
}

TEST_CASE("ps_check: a merge after an empty one counts", "[plan][ps]") {
  CutStep step;
  CHECK(step.first_violation() == "valid");
  step.reduce_indptr = {0, 2, 2, 4};
  step.reduce_final_map = {10, 20, 0, 0, 0, 10};
  step.reduce_partial_map = {0, 32, 0, 32};
  CHECK_THAT(step.first_violation(), contains("the reduce of rows [0, 10) does not name"));
  step.reduce_indptr = {0, 0, 2, 2};
  step.reduce_final_map = {0, 0, 10, 20, 0, 0};
  CHECK(step.first_violation() == "valid");
}

TEST_CASE("ps_check: a tile that is merged is cut for every group of heads, in the same pieces",
          "[plan][ps]") {
  CutStep whole;  // the first group writes its output, and the merge replaces it
  whole.work_indptr = {0, 5, 5, 5, 5};
  whole.work_info.erase(whole.work_info.begin() + 3 * kWorkItemWords,
                        whole.work_info.begin() + 4 * kWorkItemWords);
  const Words one{1, -1, 10, 20, 7, 20, 0, CutStep::kFirst};
  std::copy(one.begin(), one.end(), whole.work_info.begin() + 2 * kWorkItemWords);
  CHECK_THAT(whole.first_violation(), contains("merges all 2 head groups, of which 1 are cut"));

  CutStep apart;  // the second group has partial rows of its own
  apart.work_info[4 * kWorkItemWords + 1] = 64;
  apart.work_info[5 * kWorkItemWords + 1] = 96;
  apart.reduce_indptr = {0, 4, 4};
  apart.reduce_partial_map = {0, 32, 64, 96};
  CHECK_THAT(apart.first_violation(), contains("other partial rows than those of another group"));
}

TEST_CASE("ps_check: no two pieces of a tile share a partial row, nor do those of two tiles",
          "[plan][ps]") {
  CutStep tile;
  for (const std::size_t work : {3U, 5U}) tile.work_info[work * kWorkItemWords + 1] = 0;
  tile.reduce_partial_map = {0, 0};
  CHECK_THAT(tile.first_violation(),
             contains("partial row 0 belongs to two pieces: from page 7 for rows from 10, and from "
                      "page 15 for rows from 10"));

  CutStep both;  // the first request is cut as well
  both.work_indptr = {0, 8, 8, 8, 8};
  for (const Words& work :
       {Words{0, 96, 0, 10, 4, 7, 0, CutStep::kFirst}, {0, 96, 0, 10, 4, 7, 0, CutStep::kSecond}})
    both.work_info.insert(both.work_info.end(), work.begin(), work.end());
  for (const std::size_t work : {0U, 1U}) {
    both.work_info[work * kWorkItemWords + 1] = 64;
    both.work_info[work * kWorkItemWords + 5] = 4;
  }
  both.reduce_indptr = {0, 2, 4};
  both.reduce_final_map = {0, 10, 10, 20};
  both.reduce_partial_map = {64, 96, 0, 32};
  CHECK(both.first_violation() == "valid");
  for (const std::size_t work : {6U, 7U}) both.work_info[work * kWorkItemWords + 1] = 32;
  both.reduce_partial_map = {32, 64, 0, 32};
  CHECK_THAT(both.first_violation(),
             contains("partial row 32 belongs to two pieces: from page 4 for rows from 0, and from "
                      "page 15 for rows from 10"));
}

TEST_CASE("ps_check: a tile with more pieces than the reduce has room for is a violation",
          "[plan][ps]") {
  CutStep step;
  step.most_pieces = 2;
  CHECK(step.first_violation() == "valid");
  step.most_pieces = 1;
  CHECK(step.first_violation() ==
        "rows [10, 20), head group 0: 2 pieces, and the reduce has room for 1");
}

TEST_CASE("ps_check: a word that was never written is called so", "[plan][ps]") {
  const auto without = [](std::size_t word) {
    CutStep step;
    step.work_info[word] = kPoison;
    return step.first_violation();
  };
  CHECK(without(0) == "work 0 is for request unwritten");
  CHECK_THAT(without(2), contains("work 0 has rows [unwritten, 10), which are no tile of "));
  CHECK_THAT(without(kKvEnd), contains("pages [0, unwritten) follow page 0"));
  CHECK(without(7) == "work 0 is for heads unwritten of 4, 2 a work");
}

TEST_CASE("ps_check: pages that hold no key are no part of a work", "[plan][ps]") {
  CutStep step(false);
  CHECK(step.first_violation() == "valid");
  step.context_lens[1] = 192;  // twelve of its thirteen pages
  CHECK_THAT(step.first_violation(), contains("pages end at 13 where 12 of 12 are seen"));
}

TEST_CASE("ps_check: the first and the last word of work_indptr do not change unseen",
          "[plan][ps]") {
  Step step({100, 1, 33}, {100, 400, 90}, ComputeUnits(8), Heads(3), true);
  for (std::int32_t* word : {&step.work_indptr.front(), &step.work_indptr.back()})
    for (const std::int32_t by : {-1, 1, 1 << 20}) {
      *word += by;
      CHECK_FALSE(step.violations().empty());
      *word -= by;
    }
}

TEST_CASE("ps_check: what is wrong is said with its values", "[plan][ps]") {
  Step step({64}, {64}, ComputeUnits(3), Heads(1), true);
  const auto first = [&] {
    const auto found = step.violations();
    REQUIRE_FALSE(found.empty());
    return std::string(name(found[0].rule)) + ": " + found[0].what;
  };
  step.work_indptr = {0, 0, 0, 0};
  CHECK(first() ==
        "row_written: rows [0, 32), head group 0: no work writes these rows, which see 2 pages");
  step.work_indptr = {0, 1, 2, 4000};
  CHECK_THAT(first(), contains("work_indptr: work_indptr does not ascend from 0 to a number of "
                               "works, of which"));
}

TEST_CASE("ps_check: a piece is merged once", "[plan][ps]") {
  Step step({64}, {64}, ComputeUnits(3), Heads(1), true);
  REQUIRE(step.reduce_indptr[1] == 2);
  step.reduce_partial_map.push_back(step.reduce_partial_map[1]);
  for (std::size_t t = 1; t < step.reduce_indptr.size(); ++t) ++step.reduce_indptr[t];
  const auto found = step.violations();
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].rule == Rule::reduce_list);
}

TEST_CASE("ps_check: the heads of a work are one of the groups", "[plan][ps]") {
  Step step({20}, {40}, ComputeUnits(1), Heads(2), true);
  REQUIRE(step.work_info[7] == 2 << 16);
  step.work_info[7] = 3 << 16 | 1;
  const auto found = step.violations();
  REQUIRE(found.size() == 1);
  CHECK(found[0].what == "work 0 is for heads [1, 3) of 4, 2 a work");
}

TEST_CASE("ps_check: a work of rows that see no key may write no foreign partial row",
          "[plan][ps]") {
  Step step({64}, {64}, ComputeUnits(3), Heads(1), true);
  step.context_lens[0] = 16;  // rows 0 to 47 see nothing now, the plan has works for them
  const auto partial_rows = [&] {
    std::int64_t found = 0;
    for (const Violation& v : step.violations()) found += v.rule == Rule::partial_rows ? 1 : 0;
    return found;
  };
  REQUIRE(step.work_info[2] == 0);  // work 0 is that of rows 0 to 31
  CHECK(partial_rows() == 0);
  step.work_info[1] = 1 << 20;
  CHECK(partial_rows() == 1);
}

TEST_CASE("ps_check: a batch of two billion rows is answered with at most a hundred violations",
          "[plan][ps]") {
  Step step({64}, {64}, ComputeUnits(3), Heads(1), true);
  for (const bool causal : {true, false})
    for (const std::int32_t keys : {0, 1, 64}) {
      step.qo_indptr[1] = std::numeric_limits<std::int32_t>::max();
      step.call.causal = causal;
      step.call.qlen_granularity = 1;
      step.call.kv_heads = Heads(1 << 20);
      step.context_lens[0] = keys;
      step.work_indptr = {0, 0, 0, 0};
      CHECK(step.violations().size() <= 101);
    }
}
