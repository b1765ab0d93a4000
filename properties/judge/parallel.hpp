// A loop over independent items by several threads. Private to properties.
//
// `work()` is called once on each of `workers` threads, which use no other thread, and returns when
// nothing is left; with one worker it is called on the calling thread. `work` does not throw. Where
// the process may not have twice as many threads, one each for what a property asks for, there are
// fewer workers.
#pragma once

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "core/startable_threads.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::prop {

// 0 means one worker for each core.
inline int worker_count(int wanted) {
  return wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

template <class F>
void on_workers(int workers, F work) {
  if (workers > 1) workers = std::max(1, (startable_threads(2 * workers + 1) - 1) / 2);
  if (workers == 1) return work();
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) < workers)
      threads.emplace_back([work]() mutable {
        cpu::work_alone();
        work();
      });
  } catch (const std::exception&) {  // another process was faster
    if (threads.empty()) work();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mla::prop
