// Workspace: scratch memory that is sized once, when an engine starts, and never grows afterwards.
//
// Parts ask for their worst case while the workspace is open; lock() allocates the largest request.
// Afterwards acquire() hands out parts of that memory, one holder at a time, given back on
// destruction. Source: vLLM #42978 (BUG-089). Units: bytes.
// Fails: a request after the lock that is larger than what was reserved, or while it is
// held.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "core/engine/device/memory.hpp"
#include "core/result.hpp"

namespace mla::device {

class Workspace;

// A held part of the workspace; move-only.
class WorkspaceLease {
 public:
  WorkspaceLease(WorkspaceLease&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
  WorkspaceLease& operator=(WorkspaceLease&&) = delete;
  ~WorkspaceLease();
  [[nodiscard]] DeviceView<std::byte> view() const;

 private:
  friend class Workspace;
  explicit WorkspaceLease(Workspace& owner) : owner_(&owner) {}
  Workspace* owner_;
};

class Workspace {
 public:
  explicit Workspace(DeviceHeap& heap) : heap_(heap) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  MaybeError reserve(const std::string& who, std::size_t bytes);
  void lock();
  [[nodiscard]] bool locked() const { return locked_; }
  [[nodiscard]] std::size_t reserved_bytes() const { return bytes_; }
  Result<WorkspaceLease> acquire(const std::string& who, std::size_t bytes);

 private:
  friend class WorkspaceLease;
  DeviceHeap& heap_;
  DeviceBuffer<std::byte> memory_;
  std::size_t bytes_ = 0;
  bool locked_ = false;
  std::string holder_;  // empty: none
};

}  // namespace mla::device
