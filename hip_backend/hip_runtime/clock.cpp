#include "hip_backend/hip_runtime/clock.hpp"

#include <algorithm>
#include <cstddef>

namespace mla::hip_runtime {

void Clock::join(const Clock& other) {
  if (done_.size() < other.done_.size()) done_.resize(other.done_.size());
  for (std::size_t k = 0; k < other.done_.size(); ++k)
    done_[k] = std::max(done_[k], other.done_[k]);
}

void Clock::note(const Moment& moment) {
  if (done_.size() <= moment.line) done_.resize(moment.line + std::size_t{1});
  done_[moment.line] = std::max(done_[moment.line], moment.number);
}

}  // namespace mla::hip_runtime
