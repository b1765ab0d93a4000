#include "core/plan/v11_sort.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace mla::plan {
namespace {

constexpr std::int64_t kLanes = 64;

// The network's memory: costs and where they came from, exchanged together.
class Network {
 public:
  explicit Network(const std::vector<std::int64_t>& costs)
      : size_(v11_padded(static_cast<std::int64_t>(costs.size()))) {
    for (std::int64_t i = 0; i < size_; ++i) {
      const bool real = i < static_cast<std::int64_t>(costs.size());
      slots_.emplace_back(real ? costs[static_cast<std::size_t>(i)] : 0, i);
    }
  }

  // Stages that build runs of `length`, alternately rising and falling. Each group of lanes
  // finishes the stage before the next group starts.
  void build(std::int64_t length) {
    for (std::int64_t group = 0; 2 * group < size_; group += kLanes)
      for (std::int64_t stride = length / 2; stride > 0; stride /= 2)
        exchange(group, stride, length / 2);
  }

  // The last merge: falling everywhere, and every stride over all groups.
  void merge() {
    for (std::int64_t stride = size_ / 2; stride > 0; stride /= 2)
      for (std::int64_t group = 0; 2 * group < size_; group += kLanes) exchange(group, stride, 0);
  }

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::int64_t source(std::int64_t i) const {
    return slots_[static_cast<std::size_t>(i)].second;
  }

 private:
  // One stride of one group. A thread rises when its number has no `run` bit; run 0 never rises.
  void exchange(std::int64_t group, std::int64_t stride, std::int64_t run) {
    const std::int64_t end = std::min(group + kLanes, size_ / 2);
    for (std::int64_t thread = group; thread < end; ++thread) {
      const std::int64_t low = 2 * thread - (thread & (stride - 1));
      const bool rising = run != 0 && (thread & run) == 0;
      auto& a = slots_[static_cast<std::size_t>(low)];
      auto& b = slots_[static_cast<std::size_t>(low + stride)];
      if ((a.first > b.first) == rising) std::swap(a, b);
    }
  }

  std::int64_t size_;
  std::vector<std::pair<std::int64_t, std::int64_t>> slots_;
};

}  // namespace

std::int64_t v11_padded(std::int64_t count) {
  const auto power = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1)));
  return std::max(static_cast<std::int64_t>(power), kLanes);
}

std::vector<std::int64_t> v11_order(const std::vector<std::int64_t>& costs) {
  Network network(costs);
  for (std::int64_t length = 2; length < network.size(); length *= 2) network.build(length);
  network.merge();
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < costs.size(); ++i)
    order.push_back(network.source(static_cast<std::int64_t>(i)));
  return order;
}

}  // namespace mla::plan
