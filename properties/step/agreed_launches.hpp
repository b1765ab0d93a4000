// AgreedLaunches: launches on which two backends agreed.
//
// Half of a case's launches on a device repeat an earlier one: comparing them again shows nothing
// new. Of each launch its shape is kept, and a 64-bit sum over its lists, its tensors and the
// stages that the device returned. Safe to use from several threads.
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
