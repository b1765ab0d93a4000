#include "properties/cli/progress.hpp"

#include <algorithm>
#include <utility>

#include "properties/capture/terminal.hpp"

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

}  // namespace

std::string progress_line(const ProgressState& state) {
  constexpr std::int64_t kColumns = 20;
  std::string line;
  if (const auto done = percent(state)) {
    const auto filled = static_cast<std::size_t>(*done * kColumns / 100);
    const std::string tip = *done < 100 ? ">" : "";
    line = "[" + std::string(filled, '=') + tip;
    line.resize(1 + static_cast<std::size_t>(kColumns), ' ');
    const std::string number = std::to_string(*done);
    line += "] " + std::string(3 - number.size(), ' ') + number + " %  ";
  }
  line += std::to_string(state.judged);
  if (!state.limit && state.wanted > 0) line += "/" + std::to_string(state.wanted);
  line += " " + state.unit + "  " + std::to_string(state.elapsed.count() / 1000) + " s";
  return line;
}

Progress::Progress(std::string unit, bool enabled, std::optional<milliseconds> limit)
    : unit_(std::move(unit)),
      enabled_(enabled && stderr_is_terminal()),
      limit_(limit),
      start_(Clock::now()) {
  drawn_ = start_;
}

Progress::~Progress() {
  hide();
}

void Progress::hide() {
  if (visible_) write_stderr("\r\033[K");
  visible_ = false;
}

void Progress::update(std::int64_t judged, std::int64_t wanted) {
  const Clock::time_point now = Clock::now();
  if (!enabled_ || now - drawn_ < milliseconds(100)) return;
  drawn_ = now;
  visible_ = true;
  const auto elapsed = duration_cast<milliseconds>(now - start_);
  const ProgressState state{
      .unit = unit_, .judged = judged, .wanted = wanted, .elapsed = elapsed, .limit = limit_};
  write_stderr("\r" + progress_line(state) + "\033[K");
}

}  // namespace mla::cli
