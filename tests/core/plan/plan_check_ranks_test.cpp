// Claims about plan_check and the plan of a rank, which has every `ranks`-th key of a request.
#include <algorithm>
#include <iterator>

#include "tests/core/plan/planned_step.hpp"

using namespace mla;
using plan::Rule;
using plan::WorkItem;
using namespace mla::plan::test;

namespace {

// One request of a rank with 16 heads on gfx950, in two pieces.
struct RankPlan {
  int rows, local, cut;
  std::int64_t ranks, rank;
  int global = 0;  // keys of all ranks; 0: not known
  bool causal = true;
  bool round_robin = true;

  [[nodiscard]] std::vector<plan::Violation> check() const {
    const WorkItem works[] = {
        {.partial_row = 0, .q_end = rows, .kv_end = cut, .kv_offset = local - cut},
        {.partial_row = rows, .q_end = rows, .kv_begin = cut, .kv_end = local}};
    std::vector<std::int32_t> info;
    for (const WorkItem& work : works) std::ranges::copy(words_of(work), std::back_inserter(info));
    const std::vector<std::int32_t> indptr{0, 1, 2}, reduce{0, 2}, rows_of{0, rows};
    const std::vector<std::int32_t> partial{0, rows}, keys{0, local}, last{1};
    const std::vector<std::int32_t> all = global > 0 ? std::vector{0, global} : std::vector<int>();
    const auto shape = resolve_plan_shape(
        {.arch = Arch::gfx950, .compute_units = ComputeUnits(2), .max_qo_len = rows});
    REQUIRE(shape.ok());
    return plan::plan_check({.plan = {plan::kNoAddresses, {indptr, info, reduce, rows_of, partial}},
                             .qo_indptr = rows_of,
                             .kv_indptr = keys,
                             .last_page_len = last,
                             .shape = *shape,
                             .causal = causal,
                             .cp_round_robin = round_robin,
                             .dealt = {.ranks = ranks, .rank = rank, .global_kv_indptr = all},
                             .max_qo_len = rows});
  }
  [[nodiscard]] bool valid() const { return check().empty(); }
};

}  // namespace

TEST_CASE("plan_check: a piece of a rank of which a row sees no key is a violation",
          "[plan][ranks][BUG-012]") {
  const RankPlan bad = {.rows = 3, .local = 2, .cut = 1, .ranks = 2, .rank = 0, .global = 3};
  const auto found = bad.check();
  REQUIRE(found.size() == 1);
  CHECK(found[0].rule == Rule::hidden_rows);
  CHECK(found[0].work == 1);
  CHECK(found[0].what ==
        "work 1 [request 0, rows 0..3, pages 1..2]: rows 0..2 see none of its keys on rank 0 of 2, "
        "where all ranks together have 3 keys, and AITER's kernels let them see all (BUG-012)");
  // No row is hidden from a kernel that masks none.
  CHECK(
      RankPlan{.rows = 3, .local = 2, .cut = 1, .ranks = 2, .rank = 0, .global = 3, .causal = false}
          .valid());
}

// What AITER's a16w16_qh64_qseqlen1_gqaratio64_cprr_v3_ps computes, executed
// (docs/reference/plan-check.md).
TEST_CASE("plan_check: a row that sees another rank's key of the piece's first round is right",
          "[plan][ranks][BUG-012]") {
  const auto last_key = [](int rows, std::int64_t ranks, std::int64_t rank, int global) {
    return RankPlan{
        .rows = rows, .local = 6, .cut = 5, .ranks = ranks, .rank = rank, .global = global};
  };
  // Row 0 of 2 sees positions 0 to 10 of 12. Key 5 of rank 1 is position 11, that of rank 0 is 10.
  CHECK(last_key(2, 2, 1, 12).valid());
  CHECK_FALSE(last_key(2, 2, 0, 11).valid());  // positions 0 to 9
  CHECK(last_key(2, 2, 0, 12).valid());
  // 3 rows: of 13 positions row 0 sees 0 to 10, of 12 it sees 0 to 9.
  CHECK(last_key(3, 2, 1, 13).valid());
  CHECK_FALSE(last_key(3, 2, 1, 12).valid());
  CHECK(last_key(3, 8, 7, 48).valid());
  CHECK_FALSE(last_key(3, 8, 0, 41).valid());
  CHECK(last_key(3, 8, 0, 43).valid());
}

TEST_CASE("plan_check: without the keys of all ranks, only what is wrong for every number is one",
          "[plan][ranks][BUG-012]") {
  const auto cut_at_5 = [](int rows, std::int64_t ranks) {
    return RankPlan{.rows = rows, .local = 6, .cut = 5, .ranks = ranks, .rank = 0};
  };
  CHECK_FALSE(cut_at_5(3, 2).valid());  // all ranks have 11 or 12 keys
  CHECK_THAT(cut_at_5(3, 2).check()[0].what,
             mla::test::contains("all ranks together have at most 12 keys"));
  CHECK(cut_at_5(2, 2).valid());  // wrong with 11 only
  CHECK(cut_at_5(4, 4).valid());
  CHECK(cut_at_5(4, 0).valid());  // how many ranks there are is not known either
}

TEST_CASE("plan_check: one rank alone is judged as without ranks", "[plan][ranks][BUG-012]") {
  for (const int cut : {37, 38, 39})
    for (const int rows : {2, 3, 4}) {
      const RankPlan one = {
          .rows = rows, .local = 40, .cut = cut, .ranks = 1, .rank = 0, .global = 40};
      INFO(rows << " rows, cut at " << cut);
      CHECK(one.valid() == (40 - cut >= rows));
    }
}

TEST_CASE("plan_check: of a plan that is no rank's, what is said of ranks is not read",
          "[plan][ranks]") {
  RankPlan plan = {.rows = 3, .local = 6, .cut = 3, .ranks = 2, .rank = 0, .round_robin = false};
  CHECK(plan.valid());
  plan.global = 4;  // fewer than the request has
  CHECK(plan.valid());
}

TEST_CASE("fewest_global_kv: with one key less over all ranks, the rank would have one less",
          "[plan][ranks]") {
  for (int ranks = 1; ranks <= 8; ++ranks)
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<std::int32_t> own{0}, expected{0};
      for (int keys = 0; keys <= 20; ++keys) {
        own.push_back(own.back() + keys);
        int global = 0;
        for (int dealt = 0; dealt < keys; ++global) dealt += global % ranks == rank;
        expected.push_back(expected.back() + global);
      }
      INFO(rank << " of " << ranks);
      CHECK(plan::fewest_global_kv(own, ranks, rank) == expected);
    }
}
