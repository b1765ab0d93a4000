#include "hip_backend/gfx_emulator/launch.hpp"

#include <omp.h>

#include <algorithm>
#include <memory>

#include "hip_backend/gfx_emulator/assumptions.hpp"
#include "hip_backend/gfx_emulator/check/checker.hpp"
#include "hip_backend/gfx_emulator/exec/access.hpp"
#include "hip_backend/gfx_emulator/exec/scheduler.hpp"
#include "hip_backend/gfx_emulator/exec/start.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"

namespace mla::gfx {
namespace {

constexpr std::uint64_t null_page = 4096;

bool is_access(Problem problem) {
  return problem == Problem::out_of_bounds || problem == Problem::read_only ||
         problem == Problem::misaligned || problem == Problem::hidden_out_of_bounds;
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
  event.disassembly = disassemble(object.operations(), inst);
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
    std::fill(group.lds.begin(), group.lds.end(), std::byte{0xa5});
    std::fill(scratch.begin(), scratch.end(), std::byte{0xa5});
    const Checks& checks = launch.request->options.checks;
    const std::unique_ptr<Checker> checker =
        checks.any_per_instruction() ? std::make_unique<Checker>(group, checks) : nullptr;
    group.checker = checker.get();
    group.watched = checker != nullptr || checks.bank_conflicts;
    for (const auto& wave : storage) {
      start_wave(*wave);
      if (checker) checker->start_wave(*wave);
    }
    run_workgroup(group);
    ++group.statistics.workgroups;
    group.statistics.waves += storage.size();
  }

  std::vector<std::unique_ptr<Wave>> storage;
  std::vector<std::byte> scratch;
  Group group;
};

void run_grid(Launch& launch) {
  const auto& grid = launch.request->grid;
  const auto& block = launch.request->block;
  const unsigned waves = (block[0] * block[1] * block[2] + lanes - 1) / lanes;
  const auto groups = static_cast<std::int64_t>(grid[0]) * grid[1] * grid[2];
  const int asked = launch.request->options.threads;
  const int threads = asked > 0 ? asked : omp_get_max_threads();
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
    launch.report.statistics.add(worker.group.statistics);
  }
}

}  // namespace

void report_fault(Wave& w, const Inst& inst, Problem problem, int lane, std::uint64_t address,
                  std::string text) {
  Launch& launch = *w.group->launch;
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
  Launch& launch = *w.group->launch;
  const std::lock_guard lock(launch.mutex);
  auto& findings = launch.report.findings;
  const auto same = [&](const Event& e) { return e.problem == problem && e.pc == inst.at; };
  if (findings.size() >= launch.request->options.finding_limit ||
      std::any_of(findings.begin(), findings.end(), same)) {
    ++launch.report.findings_dropped;
    return;
  }
  findings.push_back(event_of(w, inst, problem, lane, address, std::move(text)));
}

Result<LaunchReport> run(const CodeObject& object, const LaunchRequest& request,
                         const Memory& memory) {
  Launch launch;
  if (auto error = start_launch(object, request, memory, launch)) return *error;
  run_grid(launch);
  for (std::size_t k = 0; k < launch.report.statistics.by_class.size(); ++k) {
    launch.report.statistics.instructions += launch.report.statistics.by_class[k];
  }
  return std::move(launch.report);
}

}  // namespace mla::gfx
