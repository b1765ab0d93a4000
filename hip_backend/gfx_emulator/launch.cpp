#include "hip_backend/gfx_emulator/launch.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <memory>

#include "hip_backend/gfx_emulator/assumptions.hpp"
#include "hip_backend/gfx_emulator/check/checker.hpp"
#include "hip_backend/gfx_emulator/check/global_races.hpp"
#include "hip_backend/gfx_emulator/exec/access.hpp"
#include "hip_backend/gfx_emulator/exec/fidelity.hpp"
#include "hip_backend/gfx_emulator/exec/late_memory.hpp"
#include "hip_backend/gfx_emulator/exec/recorder.hpp"
#include "hip_backend/gfx_emulator/exec/scheduler.hpp"
#include "hip_backend/gfx_emulator/exec/start.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"

namespace mla::gfx {
namespace {

constexpr std::uint64_t null_page = 4096;

int all_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

bool is_access(Problem problem) {
  return problem == Problem::out_of_bounds || problem == Problem::read_only ||
         problem == Problem::misaligned || problem == Problem::hidden_out_of_bounds ||
         problem == Problem::global_race;
}

Event event_of(const Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
               std::string text) {
  const CodeObject& object = *w.group->launch->object;
  Event event;
  event.problem = problem;
  event.workgroup = w.group->id;
  event.wave = w.number;
  event.lane = lane;
  event.pc = inst.at;
  event.place = object.place(inst.at);
  // Late memory runs an instruction with its operands in other places.
  const std::uint32_t index = w.group->late != nullptr ? object.index_at(inst.at) : object.npos;
  event.disassembly =
      disassemble(object.operations(), index != object.npos ? object.instructions()[index] : inst);
  event.address = address;
  event.text = std::move(text);
  event.source = object.source(inst.at);
  if (!is_access(problem) || address < null_page) return event;
  if (const Range* const range = intended_range(w, inst, address)) {
    event.range = range->name;
    event.range_offset = static_cast<std::int64_t>(address - range->base);
    event.range_size = range->size;
  }
  return event;
}

// What one host thread needs to run workgroups, one after the other.
struct Worker {
  explicit Worker(Launch& launch, unsigned waves) {
    storage.reserve(waves);
    for (unsigned n = 0; n < waves; ++n) {
      storage.push_back(std::make_unique_for_overwrite<Wave>());
      // Registers beyond those of the kernel keep this; start_wave() sets the others anew.
      std::fill_n(&storage.back()->v[0][0], std::size_t{512} * lanes, assumed::unwritten);
      storage.back()->number = n;
      storage.back()->group = &group;
      group.waves.push_back(storage.back().get());
    }
    const Arrival& arrival = launch.request->options.arrival;
    if (arrival.mode != Arrival::Mode::early) late = std::make_unique<LateMemory>(arrival);
    const RunOptions& options = launch.request->options;
    if (options.profile || options.trace) recorder = std::make_unique<Recorder>(launch);
    group.launch = &launch;
    group.lds_size = launch.lds_size;
    group.lds.resize(launch.lds_size + 64);
    scratch.resize(std::size_t{launch.scratch_size} * lanes * waves);
    for (unsigned n = 0; n < waves; ++n) {
      storage[n]->scratch = scratch.data() + std::size_t{launch.scratch_size} * lanes * n;
      storage[n]->scratch_size = launch.scratch_size;
    }
  }

  void run(Launch& launch, std::array<std::uint32_t, 3> id) {
    group.id = id;
    group.stopped = false;
    const auto wrote = [](const auto& wave) { return wrote_memory(*wave); };
    if (std::any_of(storage.begin(), storage.end(), wrote)) {
      std::fill(group.lds.begin(), group.lds.end(), std::byte{0xa5});
      std::fill(scratch.begin(), scratch.end(), std::byte{0xa5});
    }
    const Checks& checks = launch.request->options.checks;
    if (checks.any_per_instruction() && !checker) {
      checker = std::make_unique<Checker>(group, checks);
    }
    if (checker) checker->start_group();
    group.checker = checker.get();
    group.late = late.get();
    group.races = launch.races.get();
    if (launch.races) launch.races->start_group(group);
    group.recorder = recorder.get();
    if (recorder) recorder->start_group(group);
    group.watched = checker != nullptr || checks.bank_conflicts;
    for (const auto& wave : storage) {
      start_wave(*wave, effects);
      if (checker) checker->start_wave(*wave);
    }
    if (late) late->start_group(group);
    run_workgroup(group);
    if (recorder) recorder->end_group();
    ++group.statistics.workgroups;
    group.statistics.waves += storage.size();
  }

  // Executed operations, by class for the statistics and by name for the assumptions.
  void add_to(Launch& launch) {
    const Operations& operations = launch.object->operations();
    for (std::size_t op = 0; op < operations.size(); ++op) {
      const auto kind = static_cast<std::size_t>(operations.at(static_cast<unsigned>(op)).kind);
      group.statistics.by_class[kind] += group.executed[op];
    }
    for (std::size_t k = 0; k < group.executed.size(); ++k) launch.executed[k] += group.executed[k];
    launch.report.statistics.add(group.statistics);
    if (checker) launch.report.findings_dropped += checker->repeated();
    if (recorder) recorder->add_to(launch);
  }

  std::vector<std::unique_ptr<Wave>> storage;
  std::vector<std::byte> scratch;
  std::unique_ptr<LateMemory> late;  // null: memory answers at once
  EffectsTable effects;
  std::unique_ptr<Recorder> recorder;  // null: nobody asked for a profile or a trace
  std::unique_ptr<Checker> checker;    // null: no check wants to see every instruction
  Group group;
};

void run_grid(Launch& launch) {
  const auto& grid = launch.request->grid;
  const auto& block = launch.request->block;
  const unsigned waves = (block[0] * block[1] * block[2] + lanes - 1) / lanes;
  const auto groups = static_cast<std::int64_t>(grid[0]) * grid[1] * grid[2];
  const int asked = launch.request->options.threads;
  const bool one_thread = launch.request->options.checks.global_races;
  const int threads = one_thread ? 1 : asked > 0 ? asked : all_threads();
#pragma omp parallel num_threads(threads) if (groups > 1 && threads != 1)
  {
    const std::uint32_t before = HostFloat::current();
    Worker worker(launch, waves);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t n = 0; n < groups; ++n) {
      if (launch.stopped) continue;
      const auto index = static_cast<std::uint64_t>(n);
      worker.run(launch, {static_cast<std::uint32_t>(index % grid[0]),
                          static_cast<std::uint32_t>(index / grid[0] % grid[1]),
                          static_cast<std::uint32_t>(index / grid[0] / grid[1])});
    }
    HostFloat::set(before);
    const std::lock_guard lock(launch.mutex);
    worker.add_to(launch);
  }
}

}  // namespace

void report_fault(Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                  std::string text) {
  Launch& launch = *w.group->launch;
  if (w.group->recorder != nullptr) w.group->recorder->found(w, inst, problem);
  Event event = event_of(w, inst, problem, lane, address, std::move(text));
  const std::lock_guard lock(launch.mutex);
  const std::size_t limit = std::max(1U, launch.request->options.fault_limit);
  if (launch.report.faults.size() < limit) launch.report.faults.push_back(std::move(event));
  if (launch.report.faults.size() >= limit) {
    launch.stopped = true;
    w.group->stopped = true;
  }
}

void report_finding(Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                    std::string text) {
  report_finding(w, inst,
                 {.problem = problem, .lane = lane, .address = address, .text = std::move(text)});
}

Cause cause_at(const Wave& w, std::array<std::uint32_t, 3> workgroup, std::uint32_t number,
               std::uint64_t pc) {
  const CodeObject& object = *w.group->launch->object;
  Cause cause{.workgroup = workgroup,
              .wave = number,
              .pc = pc,
              .place = object.place(pc),
              .disassembly = {}};
  const std::uint32_t index = object.index_at(pc);
  if (index != CodeObject::npos) {
    cause.disassembly = disassemble(object.operations(), object.instructions()[index]);
  }
  return cause;
}

void report_finding(Wave& w, const Inst& inst, Finding finding) {
  Launch& launch = *w.group->launch;
  const Problem problem = finding.problem;
  if (w.group->recorder != nullptr) w.group->recorder->found(w, inst, problem);
  const std::lock_guard lock(launch.mutex);
  const bool note = problem == Problem::global_race && launch.request->options.checks.global_notes;
  auto& findings = note ? launch.report.notes : launch.report.findings;
  const auto same = [&](const Event& e) { return e.problem == problem && e.pc == inst.at; };
  if (findings.size() >= launch.request->options.finding_limit ||
      std::any_of(findings.begin(), findings.end(), same)) {
    ++launch.report.findings_dropped;
    return;
  }
  findings.push_back(
      event_of(w, inst, problem, finding.lane, finding.address, std::move(finding.text)));
  findings.back().cause = std::move(finding.cause);
  findings.back().fix = std::move(finding.fix);
}

Result<LaunchReport> run(const CodeObject& object, const LaunchRequest& request,
                         const Memory& memory) {
  Launch launch;
  if (auto error = start_launch(object, request, memory, launch)) return *error;
  if (request.options.checks.global_races) launch.races = std::make_shared<GlobalRaces>();
  run_grid(launch);
  for (std::size_t k = 0; k < launch.report.statistics.by_class.size(); ++k) {
    launch.report.statistics.instructions += launch.report.statistics.by_class[k];
  }
  launch.report.assumed = assumed_in(object.operations(), launch.executed, request.options.mfma);
  launch.report.profile = profile_lines(object, launch.counts);
  return std::move(launch.report);
}

}  // namespace mla::gfx
