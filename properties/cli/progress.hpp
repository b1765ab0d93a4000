// The progress bar of a long run, on stderr, and only when stderr is a terminal.
//
// Units: cases; time on the monotonic clock. It redraws one line at most ten times a second and
// removes it when it is done, so that stderr keeps no trace of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace mla::cli {

// `[=========>          ]  47 %  940/2000 cases  12 s, 78/s, 14 s left`, 20 columns of bar. A time
// limit measures the progress by time; without limit and total there is no bar, no percentage and
// no remaining time. A narrow terminal gets no bar, then the beginning of the line.
struct ProgressState {
  std::string unit = "cases";
  std::int64_t judged = 0;
  std::int64_t wanted = 0;  // 0: unknown
  std::chrono::milliseconds elapsed{0};
  std::optional<std::chrono::milliseconds> limit;
  std::size_t columns = 0;  // of the terminal; 0: unknown
};
std::string progress_line(const ProgressState& state);

class Progress {
 public:
  // `unit` is what update() counts: "cases".
  Progress(std::string unit, bool enabled, std::optional<std::chrono::milliseconds> limit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::int64_t judged, std::int64_t wanted);
  // Takes the line away, for other output; the next update() draws it again.
  void hide();

 private:
  using Clock = std::chrono::steady_clock;
  std::string unit_;
  bool enabled_;
  std::optional<std::chrono::milliseconds> limit_;
  Clock::time_point start_;
  Clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace mla::cli
