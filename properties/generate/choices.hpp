// Choices: where a generator gets its decisions from.
//
// A generator is written once and asks for decisions one after the other; a random source answers
// by weight, an exhaustive one (odometer.hpp) takes every alternative in turn. An
// empty list of alternatives or an empty range is a bug of the caller.
#pragma once

#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/lifetime.hpp"

namespace mla::prop {

class Choices {
 public:
  Choices() = default;
  Choices(const Choices&) = delete;
  Choices& operator=(const Choices&) = delete;
  virtual ~Choices() = default;
  // An index below weights.size(). Weights are positive.
  virtual std::size_t pick(std::span<const int> weights) = 0;
  // A number from low to high, both included.
  virtual std::int64_t between(std::int64_t low, std::int64_t high) = 0;
};

template <class T>
struct Option {
  T value{};
  int weight = 1;
};

// Alternatives, apart from their weights: a source of decisions looks at the weights alone.
template <class T>
class Options {
 public:
  Options() = default;
  Options(std::initializer_list<Option<T>> options) {
    for (const Option<T>& option : options) push_back(option);
  }
  void push_back(const Option<T>& option) {
    values_.push_back(option.value);
    weights_.push_back(option.weight);
  }
  void set_weight(std::size_t i, int weight) { weights_[i] = weight; }
  [[nodiscard]] bool empty() const { return weights_.empty(); }
  [[nodiscard]] std::size_t size() const { return weights_.size(); }
  [[nodiscard]] T value(std::size_t i) const { return values_[i]; }
  // Those whose values are kept.
  template <class Keep>
  [[nodiscard]] Options where(Keep keep) const {
    Options kept;
    for (std::size_t i = 0; i < size(); ++i)
      if (keep(value(i))) kept.push_back({value(i), weights_[i]});
    return kept;
  }
  [[nodiscard]] std::span<const int> weights() const MLA_LIFETIME_BOUND { return weights_; }

 private:
  std::vector<T> values_;
  std::vector<int> weights_;
};

template <class T>
T choose(Choices& choices, const Options<T>& options) {
  assert(!options.empty());
  return options.value(choices.pick(options.weights()));
}

// Answers by weight, uniformly within a range; the same answers for the same seed everywhere.
class RandomChoices final : public Choices {
 public:
  explicit RandomChoices(std::uint64_t seed) : seed_(seed) {}
  std::size_t pick(std::span<const int> weights) override;
  std::int64_t between(std::int64_t low, std::int64_t high) override;

 private:
  std::uint64_t below(std::uint64_t bound);
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

// Answers like an odometer: every combination of answers comes once, whatever the generator asks,
// also when later questions depend on earlier answers. After the idea of TigerBeetle's exhaustigen.
//
//   Odometer odometer;
//   while (odometer.next()) use(draw_case(odometer, domain));
class Odometer final : public Choices {
 public:
  // Moves to the next combination; false when there is none.
  bool next();
  std::size_t pick(std::span<const int> weights) override;
  std::int64_t between(std::int64_t low, std::int64_t high) override;

 private:
  struct Digit {
    std::uint64_t value = 0;
    std::uint64_t bound = 1;
  };
  std::uint64_t digit(std::uint64_t bound);
  std::vector<Digit> digits_;
  std::size_t asked_ = 0;  // digits read in this round
  bool started_ = false;
};

}  // namespace mla::prop
