// Claims about ranks that share a context: what each row sees of the keys on its rank.
#include "core/units.hpp"
#include "cpu_backend/calls/stage1_call.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

constexpr std::int64_t kRows = 3;
constexpr std::int64_t kHeads = 16;

// One request of three rows whose keys are dealt out to ranks, and all memory a call may name.
struct Share {
  std::int64_t keys;  // of all ranks
  std::int64_t ranks, rank;
  std::int64_t local = keys <= rank ? 0 : ceil_div(keys - rank, ranks);
  std::vector<std::int32_t> qo_indptr{0, kRows};
  std::vector<std::int32_t> kv_indptr{0, static_cast<std::int32_t>(local)};
  std::vector<std::int32_t> kv_indices = std::vector<std::int32_t>(static_cast<std::size_t>(local));
  std::vector<std::int32_t> last_page_len{1};
  std::vector<std::int32_t> global{0, static_cast<std::int32_t>(keys)};

  // Of the keys that row `row` sees, those on this rank at local positions [begin, end).
  [[nodiscard]] std::int64_t seen(std::int64_t row, std::int64_t begin, std::int64_t end) const {
    std::int64_t count = 0;
    for (std::int64_t j = begin; j < end; ++j)
      count += j * ranks + rank < keys - (kRows - 1 - row) ? 1 : 0;
    return count;
  }
  [[nodiscard]] cpu::Stage1Call call() const {
    cpu::Stage1Call c;
    c.q_rows = kRows;
    c.heads = kHeads;
    c.cache.slots = 1;  // every key is page 0; nothing is read here
    c.qo_indptr = qo_indptr;
    c.kv_indptr = kv_indptr;
    c.kv_indices = kv_indices;
    c.last_page_len = last_page_len;
    c.max_qo_len = kRows;
    c.partial_rows = 64;
    c.share = {.global_kv_indptr = global, .ranks = ranks, .rank = rank};
    return c;
  }
};

}  // namespace

TEST_CASE("ranks: a row sees the keys before it, wherever a plan cuts", "[cpu][ranks]") {
  for (const std::int64_t ranks : {1, 2, 3})
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      for (const std::int64_t keys : {3, 4, 9, 40}) {
        const Share share{.keys = keys, .ranks = ranks, .rank = rank};
        const auto cut = static_cast<std::int32_t>(share.local / 2);
        const auto end = static_cast<std::int32_t>(share.local);
        const std::vector<std::int32_t> indptr{0, 2};
        const std::vector<std::int32_t> info{0, 0,     0, kRows, 0,   cut, end - cut, 0,
                                             0, kRows, 0, kRows, cut, end, 0,         0};
        const std::array<std::uint64_t, 2> meta{reinterpret_cast<std::uintptr_t>(indptr.data()),
                                                reinterpret_cast<std::uintptr_t>(info.data())};
        cpu::Stage1Call call = share.call();
        call.plan.emplace(plan::PlanView{meta, {indptr, info}});
        const auto list = cpu::stage1_tasks(call);
        REQUIRE(list.ok());
        REQUIRE(list->faults.empty());
        REQUIRE(list->tasks.size() == 2);
        for (std::int64_t row = 0; row < kRows; ++row) {
          INFO(keys << " keys, rank " << rank << " of " << ranks << ", row " << row);
          CHECK(list->tasks[0].visible(row) == share.seen(row, 0, cut));
          CHECK(list->tasks[1].visible(row) == share.seen(row, cut, end));
        }
      }
}

TEST_CASE("ranks: without a plan the splits of a row hold what it sees", "[cpu][ranks]") {
  const std::vector<std::int32_t> two{0, 2};
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const Share share{.keys = 201, .ranks = 2, .rank = rank};
    cpu::Stage1Call call = share.call();
    call.splits = 4;
    call.splits_indptr = two;  // this request takes two of the four
    const auto list = cpu::stage1_tasks(call);
    REQUIRE(list.ok());
    REQUIRE(list->faults.empty());
    REQUIRE(list->tasks.size() == 2);
    for (std::int64_t row = 0; row < kRows; ++row)
      CHECK(list->tasks[0].visible(row) + list->tasks[1].visible(row) ==
            share.seen(row, 0, share.local));
    CHECK(list->tasks[1].partial_row_of(1) == 5);  // four partial rows for each row
  }
}

TEST_CASE("ranks: more splits than there are is a fault", "[cpu][ranks]") {
  const std::vector<std::int32_t> five{0, 5};
  const Share share{.keys = 90, .ranks = 1, .rank = 0};
  cpu::Stage1Call call = share.call();
  call.splits = 4;
  call.splits_indptr = five;
  const auto list = cpu::stage1_tasks(call);
  REQUIRE(list.ok());
  REQUIRE(list->faults.size() == 1);
  CHECK(list->faults[0].what == "request 0: 5 splits are not in [0, 4]");
}
