// Owns: what a launch that takes long says on stderr while it runs.
//
// After two seconds: how many workgroups are through, instructions of waves, seconds. On a terminal
// one line is written over and taken away at the end; elsewhere a line comes every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace mla::gfx {

// Whether stderr takes it: a terminal does, unless MLA_TESTBED_PROGRESS is 0; 1: in any case.
[[nodiscard]] bool progress_wanted();

class LaunchProgress {
 public:
  LaunchProgress(std::string kernel, std::uint64_t workgroups);
  LaunchProgress(const LaunchProgress&) = delete;
  LaunchProgress& operator=(const LaunchProgress&) = delete;
  ~LaunchProgress();
  // What a thread has executed since it last said so. Writes the line if it is time to.
  void add(std::uint64_t instructions, std::uint64_t workgroups);

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::string kernel_;
  std::uint64_t workgroups_;
  std::uint64_t done_ = 0, instructions_ = 0;
  bool terminal_, shown_ = false;
  Clock::time_point begin_, due_;
};

}  // namespace mla::gfx
