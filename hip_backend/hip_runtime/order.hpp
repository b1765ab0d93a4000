// Owns: which work comes before which, as streams, events, waits and graphs order it. Private to
// hip_runtime.
//
// Everything is done at once here: this is the order that a GPU has to keep, not the one that
// happened. Where HIP leaves a choice (when a call waits), the order with fewer races is taken. All
// threads of the host count as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hip_backend/hip_runtime/clock.hpp"

namespace mla::hip_runtime {

// A stream is null where it has no name.
class Order {
 public:
  // Between these two calls is what is done on a stream.
  void begin(StreamOrder* stream);
  void end(StreamOrder* stream);
  // What an event stands for that is recorded on the stream, and a stream that waits for it.
  [[nodiscard]] Clock recorded(StreamOrder* stream) const;
  void wait(StreamOrder* stream, const Clock& event);
  // The host waits: for a stream, for what is known of otherwise, for all there was.
  void host_waits(StreamOrder* stream) { host_.join(recorded(stream)); }
  void host_waits(const Clock& clock) { host_.join(clock); }
  void host_waits_for_all() { host_.join(all_); }

  // Of what is done now.
  [[nodiscard]] Clock& now() { return now_; }
  [[nodiscard]] const Moment& moment() const { return moment_; }
  [[nodiscard]] const std::string& place() const { return place_; }  // "on stream 1"

  void in_graph() { place_ = "in a graph launched " + place_; }
  // The next work of a line, after all that `before` covers.
  void step(Line line, const Clock& before);
  // A line for what comes after all that `before` covers, which may be all that one had that was
  // given back: else clocks would grow with each launch of a graph with branches.
  [[nodiscard]] Line line_after(const Clock& before);
  void give_back(Line line);
  [[nodiscard]] std::size_t lines() const { return numbers_.size() - 1; }

 private:
  [[nodiscard]] StreamOrder& of(StreamOrder* stream);

  StreamOrder unnamed_;  // the stream without a name
  Clock blocking_;       // all works of streams that it waits for
  Clock host_, all_;
  Clock now_;
  Moment moment_;
  std::string place_;
  std::vector<std::uint32_t> numbers_ = {0};  // the last one of each line
  std::vector<Line> free_;
};
Order& order();

// What is done on a stream, as long as this lives.
class OnStream {
 public:
  explicit OnStream(StreamOrder* stream) : stream_(stream) { order().begin(stream); }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
  ~OnStream() { order().end(stream_); }

 private:
  StreamOrder* stream_;
};

}  // namespace mla::hip_runtime
