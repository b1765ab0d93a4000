// ByteChoices: a fuzzer's bytes as the source of a generator's decisions.
//
// Each decision takes as many bytes as its range needs, so a mutated byte changes one decision;
// when they run out every answer is the first one, so every input is a complete case.
#pragma once

#include <cstdint>
#include <span>

#include "properties/generate/choices.hpp"

namespace mla::prop::fuzz {

using Bytes = std::span<const std::uint8_t>;

class ByteChoices final : public Choices {
 public:
  explicit ByteChoices(Bytes bytes) : bytes_(bytes) {}
  std::size_t pick(std::span<const int> weights) override;
  std::int64_t between(std::int64_t low, std::int64_t high) override;
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::uint64_t below(std::uint64_t bound);
  Bytes bytes_;
};

}  // namespace mla::prop::fuzz
