#include "hip_backend/gfx_emulator/run/worker.hpp"

#include <algorithm>
#include <initializer_list>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/run/scheduler.hpp"

namespace mla::gfx {

Worker::Worker(Launch& launch, unsigned waves, GlobalRaces* races, Coherence* coherence,
               GlobalWatch* watch)
    : races_(races),
      coherence_(coherence),
      watch_(watch),
      patience_(launch.object->operations().arch()) {
  waves_.reserve(waves);
  for (unsigned n = 0; n < waves; ++n) {
    waves_.push_back(std::make_unique_for_overwrite<Wave>());
    // Registers beyond those of the kernel keep this; start_wave() sets the others anew.
    std::fill_n(&waves_.back()->v[0][0], std::size_t{512} * lanes, assumed::unwritten);
    waves_.back()->number = n;
    waves_.back()->group = &group_;
    group_.waves.push_back(waves_.back().get());
  }
  const Arrival& arrival = launch.request->options.arrival;
  if (arrival.mode != Arrival::Mode::early) late_ = std::make_unique<LateMemory>(arrival);
  const RunOptions& options = launch.request->options;
  if (options.profile || options.trace) recorder_ = std::make_unique<Recorder>(launch);
  group_.launch = &launch;
  group_.lds_size = launch.lds_size;
  group_.lds.resize(launch.lds_size + 64);
  scratch_.resize(std::size_t{launch.scratch_size} * lanes * waves);
  for (unsigned n = 0; n < waves; ++n) {
    waves_[n]->scratch = scratch_.data() + std::size_t{launch.scratch_size} * lanes * n;
    waves_[n]->scratch_size = launch.scratch_size;
  }
}

void Worker::start(Launch& launch, std::array<std::uint32_t, 3> id) {
  group_.id = id;
  group_.stopped = false;
  const auto wrote = [](const auto& wave) { return wrote_memory(*wave); };
  if (std::any_of(waves_.begin(), waves_.end(), wrote)) {
    std::fill(group_.lds.begin(), group_.lds.end(), std::byte{0xa5});
    std::fill(scratch_.begin(), scratch_.end(), std::byte{0xa5});
  }
  const Checks& checks = launch.request->options.checks;
  if (checks.any_per_instruction() && !checker_) {
    checker_ = std::make_unique<Checker>(group_, checks);
  }
  if (checks.lanes && !lanes_) lanes_ = std::make_unique<LaneWatch>(group_);
  if (checks.uninitialised && !fresh_ && FreshMemory::any(launch.ranges))
    fresh_ = std::make_unique<FreshMemory>(launch.ranges);
  if (checker_) checker_->start_group();
  group_.lds_watch = checker_.get();
  group_.late = late_ != nullptr;
  watches_.clear();
  for (GlobalWatch* const watch :
       std::initializer_list<GlobalWatch*>{races_, coherence_, fresh_.get(), watch_})
    if (watch != nullptr) watches_.add(watch);
  group_.global_watch = watches_.empty() ? nullptr : &watches_;
  if (races_ != nullptr) races_->start_group(group_);
  if (coherence_ != nullptr) coherence_->start_group(group_);
  group_.recorder = recorder_.get();
  if (recorder_) recorder_->start_group(group_);
  group_.watched = checker_ != nullptr || checks.bank_conflicts;
  for (const auto& wave : waves_) {
    start_wave(*wave, effects_);
    if (checker_) checker_->start_wave(*wave);
    if (lanes_) lanes_->start_wave(*wave);
  }
  if (late_) late_->start_group(group_);
}

Turned Worker::go_on(bool may_wait) {
  const Attached attached = {.checker = checker_.get(),
                             .races = races_,
                             .coherence = coherence_,
                             .late = late_.get(),
                             .lanes = lanes_.get(),
                             .patience = may_wait ? &patience_ : nullptr};
  const Turned turned = run_workgroup(group_, attached);
  if (turned.ending == Ending::waits) return turned;
  if (coherence_ != nullptr) coherence_->end_group();
  if (recorder_) recorder_->end_group();
  ++group_.statistics.workgroups;
  group_.statistics.waves += waves_.size();
  return turned;
}

void Worker::give_up(std::size_t waiting, std::uint64_t limit) {
  const auto runs = [](const auto& wave) { return wave->state == WaveState::running; };
  const auto wave = std::find_if(waves_.begin(), waves_.end(), runs);
  if (wave == waves_.end()) return;
  report_limit(**wave, say(waiting, " workgroups wait for others, and nothing has changed for ",
                           limit, " instructions of them"));
}

void Worker::add_to(Launch& launch) {
  const Operations& operations = launch.object->operations();
  for (std::size_t op = 0; op < operations.size(); ++op) {
    const auto kind = static_cast<std::size_t>(operations.at(static_cast<unsigned>(op)).kind);
    group_.statistics.by_class[kind] += group_.executed[op];
  }
  for (std::size_t k = 0; k < group_.executed.size(); ++k) launch.executed[k] += group_.executed[k];
  launch.report.statistics.add(group_.statistics);
  if (checker_) launch.report.findings_dropped += checker_->repeated();
  if (recorder_) recorder_->add_to(launch);
}

}  // namespace mla::gfx
