// Owns: the workgroups that one host thread has begun and not ended.
//
// It begins one after the other. One that waits for another is laid aside, with its registers and
// LDS, and the next one begins; those laid aside go on in turn when there is none left, or no
// memory for one more. So workgroups that wait for each other end, if those that are begun can.
// Where none can, the instruction limit ends the launch: nothing that the waiting workgroups of all
// threads executed changed memory for so many instructions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hip_backend/gfx_emulator/run/worker.hpp"

namespace mla::gfx {

// What the host threads of a launch share.
struct Remaining {
  std::int64_t groups = 0;
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::size_t> waiting = 0;   // workgroups that are laid aside
  std::atomic<std::size_t> given_up = 0;  // so many as nobody of them could go on
  std::atomic<std::uint64_t> idle = 0;  // instructions of waiting workgroups since anything changed
};

class Residents {
 public:
  // `threads` share the memory for workgroups that are laid aside. The others: as of Worker; with
  // `races` or `coherence` each workgroup runs to its end.
  Residents(Launch& launch, unsigned waves, int threads, GlobalRaces* races, Coherence* coherence,
            GlobalWatch* watch);

  void run(Remaining& remaining);
  void add_to(Launch& launch);  // under the launch's lock

 private:
  Worker* begun(Remaining& remaining);
  void go_on(Worker& worker, Remaining& remaining);

  Launch& launch_;
  unsigned waves_;
  GlobalRaces* races_;
  Coherence* coherence_;
  GlobalWatch* watch_;
  std::size_t room_;  // workgroups
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> free_;
  std::deque<Worker*> waiting_;
};

}  // namespace mla::gfx
