#include "core/startable_threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace mla {

int startable_threads(int wanted) {
  static std::atomic<int> known = 1;
  wanted = std::clamp(wanted, 1, kMostThreads);
  if (wanted <= known) return wanted;
  std::atomic<bool> enough = false;
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) + 1 < wanted)
      threads.emplace_back([&enough] { enough.wait(false); });
  } catch (const std::exception&) {  // a limit of the system: these are all
  }
  enough = true;
  enough.notify_all();
  for (std::thread& thread : threads) thread.join();
  const int started = static_cast<int>(threads.size()) + 1;
  for (int before = known; before < started && !known.compare_exchange_weak(before, started);) {
  }
  return started;
}

}  // namespace mla
