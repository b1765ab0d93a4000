// HostMutex: std::mutex, or nothing where a program has one thread and the library has no mutex.
#pragma once

#if defined(__wasm__) && !defined(_REENTRANT)

namespace mla {

class HostMutex {
 public:
  void lock() {}
  void unlock() {}
};

}  // namespace mla

#else

#include <mutex>

namespace mla {

using HostMutex = std::mutex;

}  // namespace mla

#endif
