// Claims about sharding keys over ranks, against dealing them out one by one.
#include "core/engine/context_parallel.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace mla;

TEST_CASE("context parallel: lengths and positions equal dealing the keys one by one",
          "[builder][P24]") {
  for (std::int64_t world = 1; world <= 5; ++world)
    for (std::int64_t interleave : {1, 2, 3, 16})
      for (std::int64_t length = 0; length <= 130; ++length) {
        std::vector<std::vector<std::int64_t>> dealt(static_cast<std::size_t>(world));
        for (std::int64_t p = 0; p < length; ++p)
          dealt[static_cast<std::size_t>(p / interleave % world)].push_back(p);
        for (std::int64_t rank = 0; rank < world; ++rank) {
          const ContextShard shard{world, interleave, rank};
          const auto& mine = dealt[static_cast<std::size_t>(rank)];
          REQUIRE(local_length(Tokens(length), shard) == Tokens(std::ssize(mine)));
          REQUIRE(std::ssize(mine) <= longest_local_length(Tokens(length), shard).count());
          for (std::size_t i = 0; i < mine.size(); ++i)
            REQUIRE(global_position(static_cast<std::int64_t>(i), shard) == mine[i]);
        }
      }
}

TEST_CASE("context parallel: the bound on local lengths is reached", "[builder][P24]") {
  const ContextShard first{4, 16, 0};
  CHECK(local_length(Tokens(65 + 15), first) == longest_local_length(Tokens(80), first));
  CHECK(longest_local_length(Tokens(64), first) == Tokens(16));
  CHECK(longest_local_length(Tokens(65), first) == Tokens(32));
}
