// The bound on the predicted time of stage 1 against every plan of small batches.
#include "core/time/stage1_bound.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

using mla::timing::SlotLoad;
using mla::timing::Stage1Costs;
using mla::timing::Stage1Query;

// Tries every cut of every tile into works, in descending order of loads, and every slot for each.
class EveryPlan {
 public:
  explicit EveryPlan(const Stage1Query& query)
      : query_(query), slots_(static_cast<std::size_t>(query.slots)) {}
  double best() {
    tile(0);
    return best_;
  }

 private:
  void tile(std::size_t index) {
    if (index < query_.tile_loads.size()) return cut(index, query_.tile_loads[index], 99, 0);
    auto busy = slots_;
    std::erase_if(busy, [](const SlotLoad& slot) { return slot.pieces == 0; });
    const Stage1Costs costs{
        .piece_us = query_.piece_us, .key_us = query_.load_us, .memory_us = query_.shared_us};
    best_ = std::min(best_, std::ranges::max(mla::timing::slot_times(busy, costs)));
  }
  void cut(std::size_t index, std::int64_t left, std::int64_t largest, std::int64_t works) {
    if (left == 0) return tile(index + 1);
    if (query_.most_pieces > 0 && works == query_.most_pieces) return;
    for (std::int64_t size = std::min(left, largest); size > 0; --size)
      for (SlotLoad& slot : slots_) {
        ++slot.pieces;
        slot.keys += size;
        cut(index, left - size, size, works + 1);
        --slot.pieces;
        slot.keys -= size;
      }
  }

  const Stage1Query& query_;
  std::vector<SlotLoad> slots_;
  double best_ = std::numeric_limits<double>::infinity();
};

template <class F>
void for_small_queries(F&& f) {
  const std::vector<std::vector<std::int64_t>> batches = {
      {1}, {2}, {5}, {1, 1}, {2, 1}, {3, 3}, {4, 1}, {4, 4}, {1, 1, 1}, {2, 2, 1}, {3, 1, 1}};
  for (const auto& tiles : batches)
    for (const std::int64_t slots : {1, 2, 3})
      for (const std::int64_t cap : {0, 1, 2})
        for (const double piece : {0.0, 0.5, 4.0})
          for (const double shared : {0.0, 0.3, 2.0})
            f(Stage1Query{tiles, slots, cap, piece, 1.25, shared});
}

std::string told(const Stage1Query& q) {
  std::string text = "slots " + std::to_string(q.slots) + " cap " + std::to_string(q.most_pieces) +
                     " piece " + std::to_string(q.piece_us) + " shared " +
                     std::to_string(q.shared_us) + " loads";
  for (const std::int64_t n : q.tile_loads) text += " " + std::to_string(n);
  return text;
}

}  // namespace

TEST_CASE("No plan of a small batch is predicted to end stage 1 before the bound") {
  int tried = 0;
  int close = 0;
  for_small_queries([&](const Stage1Query& query) {
    const double best = EveryPlan(query).best();
    const double bound = stage1_bound(query);
    if (bound > best) FAIL(told(query) + ": bound " << bound << ", a plan ends at " << best);
    close += bound > best * 0.95 ? 1 : 0;
    ++tried;
  });
  CHECK(tried == 891);
  // A bound of zero would hold, too: two of three are within 5 % of the best plan.
  CHECK(close > tried * 2 / 3);
}

TEST_CASE("Where slots share nothing and one tile fills them, the bound is the best plan's time") {
  for (const std::int64_t slots : {1, 3, 4}) {
    const Stage1Query query{{12}, slots, 0, 2.0, 0.5, 0};
    CHECK(stage1_bound(query) == Approx(2.0 + 0.5 * static_cast<double>(12 / slots)));
  }
}

TEST_CASE("A batch without tiles has a bound of 0, and a large one ends") {
  CHECK(mla::timing::stage1_bound({{}, 256, 0, 5, 1, 1}) == 0);
  const Stage1Query large{std::vector<std::int64_t>(4096, 32768), 256, 0, 5.27, 0.43, 0.0027};
  const double bound = stage1_bound(large);
  CHECK(bound > 4096 * 32768 * 0.0027);
  CHECK(bound < 4096 * 32768 * 0.43);
}
