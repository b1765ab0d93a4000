#include "hip_backend/hip_runtime/order.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla::hip_runtime {

Order& order() {
  static Order instance;
  return instance;
}

Line Order::line_after(const Clock& before) {
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](Line line) { return before.covers({line, numbers_[line]}); });
  if (found == free_.end()) {
    numbers_.push_back(0);
    return static_cast<Line>(numbers_.size() - 1);
  }
  const Line line = *found;
  free_.erase(found);
  return line;
}

void Order::give_back(Line line) {
  if (line != 0) free_.push_back(line);
}

StreamOrder& Order::of(StreamOrder* stream) {
  StreamOrder& out = stream == nullptr ? unnamed_ : *stream;
  if (out.line == 0) out.line = line_after(host_);
  return out;
}

void Order::step(Line line, const Clock& before) {
  now_ = before;
  moment_ = {line, ++numbers_[line]};
  now_.note(moment_);
}

// A stream that does not block the one without a name is not ordered with it.
void Order::begin(StreamOrder* stream) {
  StreamOrder& mine = of(stream);
  mine.clock.join(host_);
  if (stream == nullptr)
    mine.clock.join(blocking_);
  else if (stream->blocking)
    mine.clock.join(unnamed_.clock);
  place_ = stream == nullptr ? "on the stream without a name" : say("on stream ", stream->number);
  step(mine.line, mine.clock);
}

void Order::end(StreamOrder* stream) {
  of(stream).clock = now_;
  all_.join(now_);
  if (stream != nullptr && stream->blocking) blocking_.join(now_);
}

Clock Order::recorded(StreamOrder* stream) const {
  if (stream != nullptr) return stream->clock;
  Clock out = unnamed_.clock;
  out.join(blocking_);
  return out;
}

void Order::wait(StreamOrder* stream, const Clock& event) {
  of(stream).clock.join(event);
}

}  // namespace mla::hip_runtime
