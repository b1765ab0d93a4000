#include "core/engine/device/memory.hpp"

#include <algorithm>
#include <mutex>

namespace mla::device {

std::size_t DeviceHeap::allocate(std::string name, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  allocations_.push_back({std::move(name), std::vector<std::byte>(bytes, kPoison), true});
  return allocations_.size() - 1;
}

void DeviceHeap::release(std::size_t id) {
  const std::lock_guard lock(mutex_);
  Allocation& a = allocations_[id];
  a.live = false;
  std::fill(a.bytes.begin(), a.bytes.end(), kPoison);
}

std::span<std::byte> DeviceHeap::touch(std::size_t id, const DeviceAccess& access) {
  const std::lock_guard lock(mutex_);
  Allocation& a = allocations_[id];
  if (!a.live) faults_.push_back(access.operation() + " touches " + a.name + ", which was freed");
  return a.bytes;
}

std::vector<std::string> DeviceHeap::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

}  // namespace mla::device
