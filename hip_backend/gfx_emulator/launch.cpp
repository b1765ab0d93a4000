#include "hip_backend/gfx_emulator/launch.hpp"

#include <memory>

#include "hip_backend/gfx_emulator/exec/fidelity.hpp"
#include "hip_backend/gfx_emulator/memory/host_threads.hpp"
#include "hip_backend/gfx_emulator/run/residents.hpp"
#include "hip_backend/gfx_emulator/run/start.hpp"
#include "hip_backend/gfx_emulator/run/watched.hpp"

namespace mla::gfx {
namespace {

void run_grid(Launch& launch, GlobalRaces* races, Coherence* coherence, GlobalWatch* watch) {
  const auto& grid = launch.request->grid;
  const auto& block = launch.request->block;
  const unsigned waves = (block[0] * block[1] * block[2] + lanes - 1) / lanes;
  Remaining remaining;
  remaining.groups = static_cast<std::int64_t>(grid[0]) * grid[1] * grid[2];
  const bool in_turn = races != nullptr || coherence != nullptr || watch != nullptr;
  [[maybe_unused]] const int threads = in_turn ? 1 : host_threads(launch.request->options.threads);
#pragma omp parallel num_threads(threads) if (remaining.groups > 1 && threads != 1)
  {
    const std::uint32_t before = HostFloat::current();
    Residents residents(launch, waves, threads, races, coherence, watch);
    residents.run(remaining);
    HostFloat::set(before);
    const std::lock_guard lock(launch.mutex);
    residents.add_to(launch);
  }
}

}  // namespace

Result<LaunchReport> run(const CodeObject& object, const LaunchRequest& request,
                         const Memory& memory) {
  return run_watched(object, request, memory, nullptr);
}

Result<LaunchReport> run_watched(const CodeObject& object, const LaunchRequest& request,
                                 const Memory& memory, GlobalWatch* watch) {
  Launch launch;
  if (auto error = start_launch(object, request, memory, launch)) return *error;
  std::unique_ptr<GlobalRaces> races;
  if (request.options.checks.global_races) races = std::make_unique<GlobalRaces>();
  std::unique_ptr<Coherence> coherence;
  if (request.options.checks.coherence)
    coherence = std::make_unique<Coherence>(object.operations());
  if (request.options.progress) {
    const auto& grid = request.grid;
    launch.progress = std::make_unique<LaunchProgress>(request.kernel,
                                                       std::uint64_t{grid[0]} * grid[1] * grid[2]);
  }
  run_grid(launch, races.get(), coherence.get(), watch);
  launch.progress.reset();
  if (!launch.interrupted.empty() && launch.report.faults.empty()) {
    std::string text = "kernel '" + request.kernel + "' was interrupted: ";
    for (const auto& [id, at] : launch.interrupted)
      text += (id == launch.interrupted.begin()->first ? "" : "; ") + at;
    return Error{ErrorCode::fault, std::move(text)};
  }
  for (std::size_t k = 0; k < launch.report.statistics.by_class.size(); ++k) {
    launch.report.statistics.instructions += launch.report.statistics.by_class[k];
  }
  launch.report.assumed = assumed_in(object.operations(), launch.executed, request.options.mfma);
  launch.report.profile = profile_lines(object, launch.counts);
  return std::move(launch.report);
}

}  // namespace mla::gfx
