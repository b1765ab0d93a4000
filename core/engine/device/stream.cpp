#include "core/engine/device/stream.hpp"

#include <algorithm>
#include <utility>

namespace mla::device {

std::vector<std::string> Graph::names() const {
  std::vector<std::string> out;
  for (const Operation& operation : operations_) out.push_back(operation.name);
  return out;
}

void Stream::launch(std::string name, std::function<void(const DeviceAccess&)> kernel) {
  Operation operation{std::move(name), std::move(kernel)};
  if (capturing_) {
    captured_.operations_.push_back(std::move(operation));
  } else {
    queue_.push_back(std::move(operation));
  }
}

void Stream::synchronise(std::string name) {
  advance();
  ledger_.record(TransferKind::synchronise, std::move(name), 0);
}

void Stream::advance() {
  advance(queue_.size());
}

void Stream::advance(std::size_t count) {
  for (count = std::min(count, queue_.size()); count > 0; --count) {
    const Operation operation = std::move(queue_.front());
    queue_.pop_front();
    operation.run(DeviceAccess(operation.name));
  }
}

void Stream::begin_capture() {
  captured_ = Graph();
  capturing_ = true;
}

Graph Stream::end_capture() {
  capturing_ = false;
  return std::exchange(captured_, Graph());
}

void Stream::replay(const Graph& graph) {
  queue_.insert(queue_.end(), graph.operations_.begin(), graph.operations_.end());
}

}  // namespace mla::device
