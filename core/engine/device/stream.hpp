// Stream: a queue of operations that run in order, later than the host that queued them.
//
// Nothing runs when it is queued: kernels and copies run when the host waits, or when advance()
// lets the device catch up. A copy to the device reads its host source only then, as pinned memory
// is read; a source that the host has reused meanwhile arrives with the new contents (BUG-082).
// capture() records operations instead of queueing them; a Graph replays them with the same views.
// Freed views and the like become faults of the heap.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/engine/device/ledger.hpp"
#include "core/engine/device/memory.hpp"

namespace mla::device {

struct Operation {
  std::string name;
  std::function<void(const DeviceAccess&)> run;
};

// The recorded operations of a captured step.
class Graph {
 public:
  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  friend class Stream;
  std::vector<Operation> operations_;
};

class Stream {
 public:
  explicit Stream(TransferLedger& ledger) : ledger_(ledger) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() = default;  // what is still queued never runs: its sources may be gone

  void launch(std::string name, std::function<void(const DeviceAccess&)> kernel);

  // `source` has to stay valid until the copy has run.
  template <class T>
  void copy_to_device(std::string name, std::span<const T> source, DeviceView<T> target) {
    ledger_.record(TransferKind::to_device, name, source.size_bytes());
    launch(std::move(name), [source, target](const DeviceAccess& access) {
      const std::span<T> to = target.on(access);
      std::copy_n(source.begin(), std::min(source.size(), to.size()), to.begin());
    });
  }

  // Waits for all queued operations, then copies.
  template <class T>
  void copy_to_host(const std::string& name, DeviceView<T> source, std::span<T> target) {
    advance();
    ledger_.record(TransferKind::to_host, name, target.size_bytes());
    const std::span<T> from = source.on(DeviceAccess(name));
    std::copy_n(from.begin(), std::min(from.size(), target.size()), target.begin());
  }

  void synchronise(std::string name);

  // Lets the device run all queued operations, or only the first `count`; the host does not wait,
  // so nothing is recorded.
  void advance();
  void advance(std::size_t count);
  [[nodiscard]] std::size_t pending() const { return queue_.size(); }

  void begin_capture();
  Graph end_capture();
  void replay(const Graph& graph);

 private:
  TransferLedger& ledger_;
  std::deque<Operation> queue_;
  Graph captured_;
  bool capturing_ = false;
};

}  // namespace mla::device
