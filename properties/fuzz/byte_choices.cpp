#include "properties/fuzz/byte_choices.hpp"

#include <cassert>

namespace mla::prop::fuzz {

// `bound` 0 stands for 2^64.
std::uint64_t ByteChoices::below(std::uint64_t bound) {
  std::uint64_t value = 0;
  for (std::uint64_t rest = bound - 1; rest != 0 && !bytes_.empty(); rest >>= 8U) {
    value = value << 8U | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return bound == 0 ? value : value % bound;
}

// One byte, whatever the weights: coverage guides the fuzzer, and does so better without a bias.
std::size_t ByteChoices::pick(std::span<const int> weights) {
  return static_cast<std::size_t>(below(weights.size()));
}

std::int64_t ByteChoices::between(std::int64_t low, std::int64_t high) {
  assert(low <= high);
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

}  // namespace mla::prop::fuzz
