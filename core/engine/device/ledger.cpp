#include "core/engine/device/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace mla::device {

void TransferLedger::record(TransferKind kind, std::string name, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({kind, std::move(name), bytes});
}

std::vector<Transfer> TransferLedger::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::vector<Transfer> TransferLedger::waits() const {
  std::vector<Transfer> out;
  const std::lock_guard lock(mutex_);
  std::copy_if(entries_.begin(), entries_.end(), std::back_inserter(out), [](const Transfer& t) {
    return t.kind == TransferKind::to_host || t.kind == TransferKind::synchronise;
  });
  return out;
}

void TransferLedger::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace mla::device
