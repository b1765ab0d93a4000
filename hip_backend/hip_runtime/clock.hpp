// Owns: how many works of each line come before something. Private to hip_runtime.
//
// Works of one line come one after the other: those of a stream, or of a branch of a graph.
#pragma once

#include <cstdint>
#include <vector>

namespace mla::hip_runtime {

using Line = std::uint32_t;  // from 1; 0: none

struct Moment {
  Line line = 0;
  std::uint32_t number = 0;  // from 1
};

class Clock {
 public:
  void join(const Clock& other);
  void note(const Moment& moment);
  [[nodiscard]] bool covers(const Moment& moment) const {
    return moment.line < done_.size() && done_[moment.line] >= moment.number;
  }

 private:
  std::vector<std::uint32_t> done_;  // by line
};

// What a stream remembers.
struct StreamOrder {
  unsigned number = 0;   // from 1, as they were created
  bool blocking = true;  // the stream without a name waits for it, and it for that
  Line line = 0;
  Clock clock;  // of its last work
};

}  // namespace mla::hip_runtime
