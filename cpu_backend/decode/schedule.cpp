#include "cpu_backend/decode/schedule.hpp"

#include <numeric>
#include <utility>

namespace mla::cpu {
namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the standard library's distributions differ between
// implementations, and a schedule has to be the same everywhere.
std::uint64_t next(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

template <class T>
void shuffle(std::span<T> items, std::uint64_t& state) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next(state) % i]);
}

}  // namespace

std::vector<std::int64_t> schedule(std::span<const std::int64_t> slots, std::uint64_t seed) {
  std::vector<std::int64_t> ascending(slots.size());
  std::iota(ascending.begin(), ascending.end(), 0);
  if (seed == 0) return ascending;

  std::vector<std::span<std::int64_t>> groups;
  for (std::size_t begin = 0; begin < slots.size();) {
    std::size_t end = begin + 1;
    while (end < slots.size() && slots[end] == slots[begin]) ++end;
    groups.emplace_back(ascending.data() + begin, end - begin);
    begin = end;
  }
  std::uint64_t state = seed;
  shuffle(std::span(groups), state);
  std::vector<std::int64_t> order;
  order.reserve(slots.size());
  for (const auto& group : groups) {
    shuffle(group, state);
    order.insert(order.end(), group.begin(), group.end());
  }
  return order;
}

}  // namespace mla::cpu
