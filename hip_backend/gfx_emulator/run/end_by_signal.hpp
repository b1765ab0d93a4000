// Owns: SIGINT and SIGTERM while a program launches kernels.
//
// A kernel may spin for ever. While one of these lives, a signal that would end the process ends
// every launch of it first (run/interrupt.hpp); the owner then says where the waves were, and ends
// the process by the same signal. A signal that the program ignores stays ignored. One that it
// handles is the program's: its handler may want the launch to go on. Only an Interrupts::end_too
// has SIGINT end the launches, and calls the handler as well, as Python's needs it: it only notes
// the signal, and its code runs when the call returns.
//
// The first one in the process installs the handlers, the last one takes them away, unless other
// code has installed another since.
#pragma once

#include <string>

namespace mla::gfx {

enum class Interrupts { are_the_programs, end_too };

class EndBySignal {
 public:
  explicit EndBySignal(Interrupts handled);
  EndBySignal(const EndBySignal&) = delete;
  EndBySignal& operator=(const EndBySignal&) = delete;
  ~EndBySignal();

  // After a launch. If it ended by a signal that ends the process: writes the sentence to stderr,
  // and does not return.
  void end_process(const std::string& sentence) const;
};

}  // namespace mla::gfx
