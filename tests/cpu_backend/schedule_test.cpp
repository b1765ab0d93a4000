// Claims about the order of tasks.
#include "cpu_backend/decode/schedule.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"

using mla::cpu::schedule;

namespace {
const std::vector<std::int64_t> kSlots = {0, 0, 0, 1, 2, 2, 5, 5, 5, 5, 7};
}

TEST_CASE("schedule: seed 0 keeps the order of the plan", "[cpu][P31]") {
  const auto order = schedule(kSlots, 0);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(order.size() == kSlots.size());
}

TEST_CASE("schedule: every seed runs each task once and keeps a slot's tasks together",
          "[cpu][P31]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto order = schedule(kSlots, seed);
    CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == kSlots.size());
    std::set<std::int64_t> closed;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int64_t slot = kSlots[static_cast<std::size_t>(order[i])];
      if (i > 0 && slot != kSlots[static_cast<std::size_t>(order[i - 1])]) {
        closed.insert(kSlots[static_cast<std::size_t>(order[i - 1])]);
        CHECK_FALSE(closed.contains(slot));
      }
    }
  }
}

TEST_CASE("schedule: seeds give different orders, and the same seed the same", "[cpu][P31]") {
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) orders.insert(schedule(kSlots, seed));
  CHECK(orders.size() > 15);
  CHECK(schedule(kSlots, 3) == schedule(kSlots, 3));
}

TEST_CASE("schedule: no tasks have an empty order", "[cpu]") {
  CHECK(schedule({}, 0).empty());
  CHECK(schedule({}, 9).empty());
}
