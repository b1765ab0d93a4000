#include "properties/cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/say.hpp"
#include "properties/files/terminal.hpp"

namespace mla::cli {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Share of the run that is done, in percent; nothing if the end is unknown.
std::optional<std::int64_t> percent(const ProgressState& state) {
  if (state.limit && state.limit->count() > 0)
    return std::min<std::int64_t>(100, state.elapsed * 100 / *state.limit);
  if (state.wanted > 0) return std::min<std::int64_t>(100, state.judged * 100 / state.wanted);
  return std::nullopt;
}

std::string rounded(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string duration(double seconds) {
  if (seconds < 100) return rounded("%.0f s", seconds);
  return seconds < 6000 ? rounded("%.0f min", seconds / 60) : rounded("%.1f h", seconds / 3600);
}

// How fast it goes and how long it takes; nothing in the first second.
std::string outlook(const ProgressState& state) {
  const double seconds = static_cast<double>(state.elapsed.count()) / 1e3;
  if (seconds < 1) return {};
  const double rate = static_cast<double>(state.judged) / seconds;
  std::string out;
  if (state.judged > 0)
    out += rate >= 10  ? rounded(", %.0f/s", rate)
           : rate >= 1 ? rounded(", %.1f/s", rate)
                       : rounded(", %.1f s each", 1 / rate);
  if (state.limit) {
    if (*state.limit > state.elapsed)
      out += ", " + duration(std::chrono::duration<double>(*state.limit - state.elapsed).count()) +
             " left";
  } else if (state.wanted > state.judged && state.judged > 0) {
    out += ", " + duration(static_cast<double>(state.wanted - state.judged) / rate) + " left";
  }
  return out;
}

std::string bar_of(std::int64_t done) {
  constexpr std::int64_t kColumns = 20;
  std::string bar = "[" + std::string(static_cast<std::size_t>(done * kColumns / 100), '=') +
                    (done < 100 ? ">" : "");
  bar.resize(1 + static_cast<std::size_t>(kColumns), ' ');
  return bar + "] ";
}

std::size_t columns_of_stderr() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string progress_line(const ProgressState& state) {
  std::string bar;
  std::string line;
  if (const auto done = percent(state)) {
    bar = bar_of(*done);
    const std::string number = std::to_string(*done);
    line = std::string(3 - number.size(), ' ') + number + " %  ";
  }
  line += std::to_string(state.judged);
  if (!state.limit && state.wanted > 0) line += say("/", state.wanted);
  line += say(" ", state.unit, "  ", state.elapsed.count() / 1000, " s", outlook(state));
  // The last column stays free: some terminals begin a new line after it.
  if (state.columns == 0 || bar.size() + line.size() < state.columns) return bar + line;
  return line.substr(0, state.columns - 1);
}

Progress::Progress(std::string unit, bool enabled, std::optional<milliseconds> limit)
    : unit_(std::move(unit)),
      enabled_(enabled && files::stderr_is_terminal()),
      limit_(limit),
      start_(Clock::now()) {
  drawn_ = start_;
}

Progress::~Progress() {
  hide();
}

void Progress::hide() {
  if (visible_) files::write_stderr("\r\033[K");
  visible_ = false;
}

void Progress::update(std::int64_t judged, std::int64_t wanted) {
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now - drawn_ < milliseconds(100)) return;
  drawn_ = now;
  visible_ = true;
  const auto elapsed = duration_cast<milliseconds>(now - start_);
  const ProgressState state{.unit = unit_,
                            .judged = judged,
                            .wanted = wanted,
                            .elapsed = elapsed,
                            .limit = limit_,
                            .columns = columns_of_stderr()};
  files::write_stderr("\r" + progress_line(state) + "\033[K");
}

}  // namespace mla::cli
