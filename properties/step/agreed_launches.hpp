// AgreedLaunches: launches on which two backends agreed.
//
// The same launch with the same results is the same comparison, and half of a case's launches on a
// device are repetitions. What is kept of one is its shape and a sum of 64 bits over its lists, its
// tensors and the stages that the device returned. Safe to use from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

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
  // What the other backend launched for it; nothing if it was not noted. Reports count it again, so
  // that they do not depend on what is remembered.
  [[nodiscard]] std::optional<Launches> find(const Key& key) const;
  // The oldest is forgotten.
  void note(Key key, Launches launches);

 private:
  struct Noted {
    Key key;
    Launches launches;
  };
  static constexpr std::size_t kMost = 4096;  // some dozens for each case that is being judged

  mutable std::mutex mutex_;
  std::vector<Noted> noted_;
  std::size_t oldest_ = 0;
};

}  // namespace mla::prop
