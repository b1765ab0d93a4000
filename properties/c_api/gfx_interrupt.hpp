// Owns: SIGINT while launches run that should end with it.
//
// Python's own handler only notes the signal, and its code runs when the call returns: a kernel
// that spins would never hear of it. While one of these lives, a handler in front of it ends every
// launch of the process and then calls it. The first one in the process installs the handler, the
// last one takes it away, unless other code has installed another since.
#pragma once

namespace mla::c_api {

class EndOnInterrupt {
 public:
  EndOnInterrupt();
  EndOnInterrupt(const EndOnInterrupt&) = delete;
  EndOnInterrupt& operator=(const EndOnInterrupt&) = delete;
  ~EndOnInterrupt();
};

}  // namespace mla::c_api
