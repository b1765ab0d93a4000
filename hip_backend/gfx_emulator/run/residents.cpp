#include "hip_backend/gfx_emulator/run/residents.hpp"

#include <algorithm>

namespace mla::gfx {

Residents::Residents(Launch& launch, unsigned waves, int threads, GlobalRaces* races,
                     Coherence* coherence, GlobalWatch* watch)
    : launch_(launch), waves_(waves), races_(races), coherence_(coherence), watch_(watch) {
  const std::size_t of_wave = sizeof(Wave) + std::size_t{launch.scratch_size} * lanes;
  const std::size_t of_group = waves * of_wave + launch.lds_size;
  const auto shares = static_cast<std::size_t>(std::max(1, threads));
  room_ = std::max<std::size_t>(1, launch.request->options.waiting_memory / shares / of_group);
}

// The next workgroup of the launch, in a free worker; null if there is none, or no room.
Worker* Residents::begun(Remaining& remaining) {
  if (free_.empty() && workers_.size() >= room_) return nullptr;
  const auto& grid = launch_.request->grid;
  const std::int64_t n = remaining.next.fetch_add(1, std::memory_order_relaxed);
  if (n >= remaining.groups || n > launch_.last_group) return nullptr;
  if (free_.empty()) {
    workers_.push_back(std::make_unique<Worker>(launch_, waves_, races_, coherence_, watch_));
    free_.push_back(workers_.back().get());
  }
  Worker* const worker = free_.back();
  free_.pop_back();
  const auto index = static_cast<std::uint64_t>(n);
  worker->start(launch_, {static_cast<std::uint32_t>(index % grid[0]),
                          static_cast<std::uint32_t>(index / grid[0] % grid[1]),
                          static_cast<std::uint32_t>(index / grid[0] / grid[1])});
  return worker;
}

void Residents::go_on(Worker& worker, Remaining& remaining) {
  // Another one can go on only if there is one.
  const bool alone = remaining.groups == 1 || races_ != nullptr || coherence_ != nullptr;
  const Turned turned = worker.go_on(!alone);
  if (turned.ending == Ending::ended) {
    remaining.idle = 0;
    if (launch_.progress) launch_.progress->add(0, 1);
    free_.push_back(&worker);
    return;
  }
  waiting_.push_back(&worker);
  const std::size_t waiting = ++remaining.waiting;
  if (!turned.idle) {
    remaining.idle = 0;
    return;
  }
  const std::uint64_t limit = launch_.request->options.instruction_limit;
  const std::uint64_t idle = remaining.idle += turned.executed;
  std::size_t given_up = remaining.given_up;
  if (given_up == 0 && limit != 0 && idle >= limit && waiting > 1)
    remaining.given_up = given_up = waiting;
  if (given_up != 0) worker.give_up(given_up, limit);
}

void Residents::run(Remaining& remaining) {
  while (true) {
    Worker* worker = begun(remaining);
    if (worker == nullptr) {
      if (waiting_.empty()) break;
      worker = waiting_.front();
      waiting_.pop_front();
      --remaining.waiting;
    }
    go_on(*worker, remaining);
  }
}

void Residents::add_to(Launch& launch) {
  for (const auto& worker : workers_) worker->add_to(launch);
}

}  // namespace mla::gfx
