// Modelled device memory: host code can name it, only a running kernel can look inside.
//
// Owns: DeviceHeap (allocations with names), DeviceBuffer<T> (the owner, frees on destruction) and
// DeviceView<T> (what kernels and copies are given). A view outlives its buffer the way an address
// captured in a graph does: touching it then is a fault, and the memory reads as poison (BUG-068).
// Units: elements of T. Fails: faults are collected in the heap with the names of buffer and
// kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/host_mutex.hpp"
#include "core/lifetime.hpp"

namespace mla::device {

class DeviceHeap;

// The right to touch device memory. Only a Stream makes one, for the operation that it is running.
class DeviceAccess {
 public:
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  [[nodiscard]] const std::string& operation() const MLA_LIFETIME_BOUND { return operation_; }

 private:
  friend class Stream;
  explicit DeviceAccess(const std::string& operation MLA_LIFETIME_BOUND) : operation_(operation) {}
  const std::string& operation_;
};

// Allocations by number; a number is never used twice.
class DeviceHeap {
 public:
  DeviceHeap() = default;
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  std::size_t allocate(std::string name, std::size_t bytes);
  void release(std::size_t id);
  // The bytes of an allocation; a released one is a fault of the operation and holds poison.
  std::span<std::byte> touch(std::size_t id, const DeviceAccess& access);
  [[nodiscard]] std::vector<std::string> faults() const;

  static constexpr std::byte kPoison{0xA5};

 private:
  struct Allocation {
    std::string name;
    std::vector<std::byte> bytes;
    bool live = true;
  };
  mutable HostMutex mutex_;  // streams of several host threads share one heap
  std::deque<Allocation> allocations_;
  std::vector<std::string> faults_;
};

template <class T>
class DeviceView {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  DeviceView() = default;
  DeviceView(DeviceHeap& heap, std::size_t id, std::size_t begin, std::size_t size)
      : heap_(&heap), id_(id), begin_(begin), size_(size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t allocation() const { return id_; }
  // Elements [begin, begin + size) of this view, cut to what it has.
  [[nodiscard]] DeviceView subview(std::size_t begin, std::size_t size) const {
    begin = std::min(begin, size_);
    return {*heap_, id_, begin_ + begin, std::min(size, size_ - begin)};
  }
  [[nodiscard]] std::span<T> on(const DeviceAccess& access) const {
    if (heap_ == nullptr) return {};
    const std::span<std::byte> bytes = heap_->touch(id_, access);
    return std::span(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T))
        .subspan(begin_, size_);
  }

 private:
  DeviceHeap* heap_ = nullptr;
  std::size_t id_ = 0;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceHeap& heap, std::string name, std::size_t size)
      : heap_(&heap), id_(heap.allocate(std::move(name), size * sizeof(T))), size_(size) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(id_, other.id_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() {
    if (heap_ != nullptr) heap_->release(id_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] DeviceView<T> view() const {
    return heap_ == nullptr ? DeviceView<T>() : DeviceView<T>(*heap_, id_, 0, size_);
  }

 private:
  DeviceHeap* heap_ = nullptr;
  std::size_t id_ = 0;
  std::size_t size_ = 0;
};

}  // namespace mla::device
