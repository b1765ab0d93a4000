// The bound on the makespan against every plan of small batches.
#include "core/time/makespan_bound.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

using mla::timing::makespan_bound;
using mla::timing::MakespanQuery;

// Tries every cut of every tile into works, in descending order of blocks, and every slot for each.
class Search {
 public:
  explicit Search(const MakespanQuery& query)
      : query_(query), loads_(static_cast<std::size_t>(query.slots)) {}
  std::int64_t best() {
    tile(0);
    return best_;
  }

 private:
  void tile(std::size_t index) {
    if (index == query_.tile_blocks.size()) {
      best_ = std::min(best_, std::ranges::max(loads_));
      return;
    }
    const std::int64_t blocks = query_.tile_blocks[index];
    if (blocks == 0)
      place(index, 0, 0, 0, 1);
    else
      cut(index, blocks, blocks, 0);
  }
  // Works of at most `largest` blocks until `left` is gone.
  void cut(std::size_t index, std::int64_t left, std::int64_t largest, std::int64_t works) {
    if (left == 0) return tile(index + 1);
    if (query_.most_pieces > 0 && works == query_.most_pieces) return;
    for (std::int64_t size = std::min(left, largest); size > 0; --size)
      place(index, left - size, size, size, works + 1);
  }
  void place(std::size_t index, std::int64_t left, std::int64_t size, std::int64_t largest,
             std::int64_t works) {
    const std::int64_t cost = query_.piece_cost + size * query_.block_cost;
    for (std::int64_t& load : loads_) {
      load += cost;
      if (load < best_) cut(index, left, largest, works);
      load -= cost;
    }
  }

  const MakespanQuery& query_;
  std::vector<std::int64_t> loads_;
  std::int64_t best_ = std::numeric_limits<std::int64_t>::max();
};

template <class F>
void for_small_queries(std::size_t most_tiles, F&& f) {
  std::vector<std::vector<std::int64_t>> batches{{}};
  for (std::size_t first = 0, round = 0; round < most_tiles; ++round) {
    const std::size_t end = batches.size();
    for (; first < end; ++first)
      for (std::int64_t n = 0; n <= 4; ++n)
        if (batches[first].empty() || batches[first].back() >= n) {
          batches.push_back(batches[first]);
          batches.back().push_back(n);
        }
  }
  batches.erase(batches.begin());
  for (const auto& tiles : batches)
    for (const std::int64_t slots : {1, 2, 3})
      for (const std::int64_t cap : {0, 1, 2})
        for (const std::int64_t piece : {0, 1, 3, 7})
          for (const std::int64_t block : {1, 2, 3})
            f(MakespanQuery{tiles, slots, cap, piece, block});
}

std::string told(const MakespanQuery& q) {
  std::string text = "slots " + std::to_string(q.slots) + " cap " + std::to_string(q.most_pieces) +
                     " costs " + std::to_string(q.piece_cost) + ", " +
                     std::to_string(q.block_cost) + " blocks";
  for (const std::int64_t n : q.tile_blocks) text += " " + std::to_string(n);
  return text;
}

}  // namespace

TEST_CASE("No plan of up to three tiles and three slots ends before the bound") {
  int reached = 0;
  int tried = 0;
  for_small_queries(3, [&](const MakespanQuery& query) {
    const std::int64_t best = Search(query).best();
    const std::int64_t bound = makespan_bound(query);
    if (bound > best) FAIL(told(query) + ": bound " << bound << ", a plan ends at " << best);
    reached += bound == best ? 1 : 0;
    ++tried;
  });
  CHECK(tried == 5940);
  // The bound of zero would hold, too. This one is the time of the best plan in five of six.
  CHECK(reached > tried * 5 / 6);
}

TEST_CASE("The bound of a single tile is the time of its best plan") {
  for_small_queries(1, [](const MakespanQuery& query) {
    const std::int64_t best = Search(query).best();
    if (makespan_bound(query) != best)
      FAIL(told(query) + ": bound " << makespan_bound(query) << ", best " << best);
  });
  const MakespanQuery large{{1000}, 64, 0, 10, 3};
  CHECK(makespan_bound(large) == 10 + 16 * 3);
}

TEST_CASE("Without tiles the bound is 0") {
  CHECK(makespan_bound({{}, 256, 0, 5, 1}) == 0);
}
