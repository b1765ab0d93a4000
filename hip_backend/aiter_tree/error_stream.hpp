// ErrorStream: what a process writes to standard error. It is passed on to ours as it comes; the
// last line is kept, since a check of AITER's says there why it ends its process.
//
// A thread reads until end(). last() takes what is there by now, as where a copy of the child has
// ended and the child lives on. Processes that the child started may outlive it and hold the pipe:
// end() takes what is there by then. Fails: open(), where there are no more descriptors.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/result.hpp"

namespace mla::hip::aiter_tree {

class ErrorStream {
 public:
  static Result<std::unique_ptr<ErrorStream>> open();
  ~ErrorStream();
  ErrorStream(const ErrorStream&) = delete;
  ErrorStream& operator=(const ErrorStream&) = delete;

  // What the child writes to; begin() closes it here.
  [[nodiscard]] int theirs() const { return pipe_[1]; }
  void begin();
  // The last line that is not empty of what came since the last call.
  std::string last();
  // The child has ended: as last(). Once.
  std::string end();

 private:
  using Ends = std::array<int, 2>;  // read, write; -1: closed
  ErrorStream(Ends pipe, Ends stop) : pipe_(pipe), stop_(stop) {}
  void pass_on();
  bool take();
  Ends pipe_;
  Ends stop_;  // closing its second ends the thread
  std::thread reader_;
  std::mutex turn_;   // of take(), line_ and last_
  std::string line_;  // that has not ended yet
  std::string last_;
};

// What a check of AITER's said when it ended the process, "" where it was none. A failed call of
// HIP ends it in the same way and refuses nothing.
std::string refusal_in(std::string_view last_line);

}  // namespace mla::hip::aiter_tree
