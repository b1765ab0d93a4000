// AgreedLaunches: launches on which two backends agreed.
//
// The same launch with the same results is the same comparison, and half of a case's launches on a
// device are repetitions. What is kept of one is its shape and a sum of 64 bits over its lists, its
// tensors and the stages that the device returned. Safe to use from several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/engine/backend.hpp"

namespace mla::prop {

class AgreedLaunches {
 public:
  struct Key {
    ResolvedShape shape;
    std::uint64_t sum = 0;
    bool operator==(const Key&) const = default;
  };
  static Key key(const DecodeLaunch& launch, const DecodeResult& result);
  [[nodiscard]] bool holds(const Key& key) const;
  // The oldest is forgotten.
  void note(Key key);

 private:
  mutable std::mutex mutex_;
  std::array<Key, 128> keys_;
  std::size_t noted_ = 0;
};

}  // namespace mla::prop
