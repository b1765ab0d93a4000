#include "hip_backend/gfx_emulator/exec/recorder.hpp"

#include <algorithm>
#include <bit>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

constexpr std::size_t kMostEvents = 200'000;

// Instructions that are told apart in a trace: what moves data or waits.
bool stands_alone(Class kind) {
  return counts_as_memory(kind) || kind == Class::wait || kind == Class::barrier;
}

bool has_lanes(const Inst& inst) {
  return inst.is_vector || (counts_as_memory(inst.kind) && inst.kind != Class::smem);
}

const char* run_name(Class kind) {
  return kind == Class::mfma ? "matrix" : "arithmetic";
}

}  // namespace

Recorder::Recorder(const Launch& launch) : launch_(launch) {
  if (launch.request->options.profile) counts_.resize(launch.object->instructions().size());
}

void Recorder::start_group(const Group& group) {
  group_ = &group;
  last_ = group.statistics;
  follows_ = launch_.request->options.trace == group.id;
  if (follows_) tracks_.assign(group.waves.size(), {});
}

void Recorder::after(const Wave& wave, const Inst& inst) {
  if (!counts_.empty()) count(inst, counts_[static_cast<std::size_t>(&inst - wave.code)]);
  if (follows_) follow(wave, inst);
}

void Recorder::count(const Inst& inst, InstructionCount& c) {
  const Statistics& now = group_->statistics;
  ++c.executed;
  if (has_lanes(inst)) c.lanes += static_cast<std::uint64_t>(std::popcount(lanes_));
  c.bytes_read += now.bytes_read - last_.bytes_read;
  c.bytes_written += now.bytes_written - last_.bytes_written;
  c.lds_bytes_read += now.lds_bytes_read - last_.lds_bytes_read;
  c.lds_bytes_written += now.lds_bytes_written - last_.lds_bytes_written;
  c.bank_conflicts += now.lds_bank_conflicts - last_.lds_bank_conflicts;
  last_ = now;
}

void Recorder::follow(const Wave& wave, const Inst& inst) {
  Track& track = tracks_[wave.number];
  const std::uint64_t at = track.clock++;
  if (stands_alone(inst.kind)) {
    close(track);
    add({.wave = wave.number,
         .begin = at,
         .end = track.clock,
         .count = 1,
         .pc = inst.at,
         .text = text_at(*launch_.object, inst.at),
         .what = launch_.object->operations().at(inst.op).name});
    if (inst.kind == Class::barrier && wave.state == WaveState::at_barrier) {
      track.arrived = track.clock;
      track.waits = true;
    }
    return;
  }
  if (track.run.count > 0 && track.run.what != run_name(inst.kind)) close(track);
  if (track.run.count == 0)
    track.run = {.wave = wave.number, .begin = at, .pc = inst.at, .what = run_name(inst.kind)};
  track.run.end = track.clock;
  ++track.run.count;
}

void Recorder::close(Track& track) {
  if (track.run.count == 0) return;
  add(std::move(track.run));
  track.run = {};
}

void Recorder::add(TraceEvent event) {
  if (events_.size() < kMostEvents)
    events_.push_back(std::move(event));
  else
    ++dropped_;
}

void Recorder::barrier_passed() {
  if (!follows_) return;
  std::uint64_t latest = 0;
  for (const Track& t : tracks_) latest = std::max(latest, t.clock);
  for (std::size_t w = 0; w < tracks_.size(); ++w) {
    Track& t = tracks_[w];
    if (!t.waits) continue;
    if (latest > t.arrived)
      add({.wave = static_cast<std::uint32_t>(w),
           .begin = t.arrived,
           .end = latest,
           .what = "waits at the barrier"});
    t.waits = false;
    t.clock = latest;
  }
}

void Recorder::found(const Wave& wave, const Inst& inst, Problem problem) {
  if (!follows_) return;
  const std::uint64_t at = tracks_[wave.number].clock;
  add({.wave = wave.number, .begin = at, .end = at, .pc = inst.at, .what = name_of(problem)});
}

void Recorder::end_group() {
  if (!follows_) return;
  for (Track& t : tracks_) close(t);
}

void Recorder::add_to(Launch& launch) {
  launch.counts.resize(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i) launch.counts[i].add(counts_[i]);
  LaunchReport& report = launch.report;
  report.trace.insert(report.trace.end(), events_.begin(), events_.end());
  report.trace_dropped += dropped_;
}

}  // namespace mla::gfx
