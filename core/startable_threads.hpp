// How many threads this process can have. Header only, for libraries that link nothing of core.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace mla {

// `wanted`, if so many can be alive at once, the calling one among them; otherwise half of those
// that can. At least 1, and no more than help on this machine, for a run time that keeps a table of
// them on its stack overflows it. An OpenMP run time ends the process where it cannot start one,
// with the exit code of a failed property. The first question after so many starts them, which
// takes 20 us each; what cannot be had once is not asked for again. Another process may still take
// a thread before it is started.
inline int startable_threads(int wanted) {
  static const int most = std::max(512, static_cast<int>(std::thread::hardware_concurrency()));
  static std::atomic<int> known = 1;
  static std::atomic<int> limit = most;
  wanted = std::clamp(wanted, 1, limit.load());
  if (wanted <= known) return wanted;
  std::atomic<bool> enough = false;
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) + 1 < wanted)
      threads.emplace_back([&enough] { enough.wait(false); });
  } catch (const std::exception&) {
    // A limit of the system. An OpenMP run time that changes the size of its team starts threads
    // while others still end, so half of them can be had at any time.
    limit = std::max(1, static_cast<int>(threads.size() + 1) / 2);
  }
  enough = true;
  enough.notify_all();
  for (std::thread& thread : threads) thread.join();
  const int started = static_cast<int>(threads.size()) + 1;
  for (int before = known; before < started && !known.compare_exchange_weak(before, started);) {
  }
  return std::min(wanted, limit.load());
}

}  // namespace mla
