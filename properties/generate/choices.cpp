#include "properties/generate/choices.hpp"

#include <numeric>

#include "properties/generate/hash.hpp"

namespace mla::prop {

// The remainder is biased by at most bound / 2^64, which no test of ours can see.
std::uint64_t RandomChoices::below(std::uint64_t bound) {
  return mix(seed_, ++count_) % bound;
}

std::size_t RandomChoices::pick(std::span<const int> weights) {
  const int total = std::accumulate(weights.begin(), weights.end(), 0);
  auto point = static_cast<int>(below(static_cast<std::uint64_t>(total)));
  std::size_t index = 0;
  while (point >= weights[index]) point -= weights[index++];
  return index;
}

std::int64_t RandomChoices::between(std::int64_t low, std::int64_t high) {
  assert(low <= high);
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

bool Odometer::next() {
  if (!started_) return started_ = true;
  digits_.resize(asked_);  // a shorter round than the last one leaves digits that are not asked for
  while (!digits_.empty() && digits_.back().value + 1 == digits_.back().bound) digits_.pop_back();
  if (digits_.empty()) return false;
  ++digits_.back().value;
  asked_ = 0;
  return true;
}

std::uint64_t Odometer::digit(std::uint64_t bound) {
  if (asked_ == digits_.size()) digits_.push_back({0, bound});
  assert(digits_[asked_].bound == bound);  // equal answers lead to equal questions
  return digits_[asked_++].value;
}

std::size_t Odometer::pick(std::span<const int> weights) {
  return static_cast<std::size_t>(digit(weights.size()));
}

std::int64_t Odometer::between(std::int64_t low, std::int64_t high) {
  assert(low <= high);
  return low + static_cast<std::int64_t>(digit(static_cast<std::uint64_t>(high - low) + 1));
}

}  // namespace mla::prop
