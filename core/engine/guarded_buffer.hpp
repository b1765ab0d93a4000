// GuardedBuffer: memory that starts as poison and is fenced by canaries.
//
// Elements that are not written keep their poison, which is a NaN and shows in every result; a
// write past either end damages a canary, which damaged() finds. take() gives the elements away
// without their fences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/large_pages.hpp"
#include "core/lifetime.hpp"

namespace mla {

template <class T>
struct Poison;
template <>
struct Poison<float> {
  using Bits = std::uint32_t;
  static constexpr Bits value = kPoisonF32;
  static constexpr Bits canary = 0xC0DEFACEU;
};
template <>
struct Poison<std::uint16_t> {
  using Bits = std::uint16_t;
  static constexpr Bits value = kPoisonBf16;
  static constexpr Bits canary = 0xC0DEU;
};

template <class T>
class GuardedBuffer {
 public:
  GuardedBuffer(std::string name, std::int64_t size) : name_(std::move(name)), size_(size) {
    const auto elements = static_cast<std::size_t>(size + 2 * kGuard);
    reserve_large_pages(storage_, elements);
    storage_.resize(elements, from_bits(Poison<T>::value));
    for (std::int64_t i = 0; i < kGuard; ++i) {
      raw(i) = from_bits(Poison<T>::canary);
      raw(kGuard + size_ + i) = from_bits(Poison<T>::canary);
    }
  }

  [[nodiscard]] T* data() { return storage_.data() + kGuard; }
  [[nodiscard]] const T* data() const MLA_LIFETIME_BOUND { return storage_.data() + kGuard; }
  [[nodiscard]] std::span<const T> values() const MLA_LIFETIME_BOUND {
    return {data(), static_cast<std::size_t>(size_)};
  }
  [[nodiscard]] std::int64_t size() const { return size_; }

  // A sentence if a canary is damaged, otherwise empty.
  [[nodiscard]] std::string damaged() const {
    for (std::int64_t i = 0; i < kGuard; ++i) {
      if (!intact(i)) return "the canary before " + name_ + " is damaged";
      if (!intact(kGuard + size_ + i)) return "the canary after " + name_ + " is damaged";
    }
    return {};
  }

  [[nodiscard]] std::vector<T> copy() const { return {data(), data() + size_}; }
  [[nodiscard]] std::vector<T> take() && {
    storage_.erase(storage_.begin(), storage_.begin() + kGuard);
    storage_.resize(static_cast<std::size_t>(size_));
    return std::move(storage_);
  }

 private:
  static constexpr std::int64_t kGuard = 64;

  static T from_bits(typename Poison<T>::Bits bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  T& raw(std::int64_t i) MLA_LIFETIME_BOUND { return storage_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool intact(std::int64_t i) const {
    typename Poison<T>::Bits bits;
    std::memcpy(&bits, &storage_[static_cast<std::size_t>(i)], sizeof bits);
    return bits == Poison<T>::canary;
  }

  std::string name_;
  std::int64_t size_;
  std::vector<T> storage_;
};

}  // namespace mla
