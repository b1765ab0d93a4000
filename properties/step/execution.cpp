#include "properties/step/execution.hpp"

#include <utility>

namespace mla::prop {

void ExecutionLog::note(const Launches& launches) {
  if (in_shared_) return shared_.add(launches);
  at_hand_.executed = true;
  at_hand_.own.add(launches);
}

// An overrun is the damage that a kernel left around its buffers.
void ExecutionLog::note(const Error& error) {
  if (error.code != ErrorCode::fault && error.code != ErrorCode::overrun) return;
  std::string& kept = in_shared_ ? shared_failed_ : at_hand_.failed;
  if (kept.empty()) kept = error.message;
}

void ExecutionLog::use_shared(const MaybeError& error) {
  if (error) {
    at_hand_.refused = at_hand_.refused || is_refusal(*error);
    if (at_hand_.failed.empty()) at_hand_.failed = shared_failed_;
    return;
  }
  at_hand_.executed = true;
  at_hand_.shared = true;
}

Execution ExecutionLog::take() {
  return std::exchange(at_hand_, {});
}

void LaunchSums::note(std::int64_t index, CaseExecutions executions) {
  ahead_.emplace(index, std::move(executions));
}

void LaunchSums::add_up_to(std::int64_t limit, const std::vector<std::int64_t>& last) {
  for (; !ahead_.empty() && ahead_.begin()->first == next_ && next_ <= limit; ++next_) {
    add(ahead_.begin()->second, last);
    ahead_.erase(ahead_.begin());
  }
}

void LaunchSums::add(const CaseExecutions& c, const std::vector<std::int64_t>& last) {
  bool shared = false;
  for (std::size_t i = 0; i < c.properties.size(); ++i) {
    const std::size_t p = c.properties[i];
    if (next_ > last[p]) continue;
    all_.add(c.executions[i].own);
    of_property_[p].add(c.executions[i].own);
    if (!c.executions[i].shared) continue;
    of_property_[p].add(c.shared);
    shared = true;
  }
  if (shared) all_.add(c.shared);
}

}  // namespace mla::prop
