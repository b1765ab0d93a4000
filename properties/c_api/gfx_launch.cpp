// mla_gfx.h: running a kernel.
#include <algorithm>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/report/progress.hpp"
#include "hip_backend/gfx_emulator/run/end_by_signal.hpp"
#include "hip_backend/gfx_emulator/run/instruction_limit.hpp"
#include "properties/c_api/border.hpp"
#include "properties/c_api/gfx_fence.hpp"
#include "properties/c_api/gfx_objects.hpp"

namespace mla::c_api {
namespace {

using Outcome = std::optional<Failure>;

Outcome outcome_of(const MaybeError& status) {
  if (!status) return std::nullopt;
  return failure_of(*status);
}

MaybeError add_in_place(const mla_gfx_range& range, gfx::Memory& memory) {
  const std::string name = range.name == nullptr ? "unnamed" : range.name;
  const std::span bytes(static_cast<std::byte*>(range.address), range.size);
  return range.rights == MLA_GFX_READ ? memory.add_read_only(bytes, name)
                                      : memory.add(bytes, name, gfx::Rights::read_write);
}

// What the device knows, and what this launch brings.
MaybeError gather(const mla_gfx_device& device, const mla_gfx_launch& launch, FencedCopies& copies,
                  gfx::Memory& memory) {
  const auto registered = device.memory.ranges();
  for (const gfx::Range& range : *registered) {
    const std::span bytes(reinterpret_cast<std::byte*>(range.base), range.size);
    if (auto error = memory.add(bytes, range.name, range.rights)) return error;
  }
  for (const mla_gfx_range& range : std::span(launch.ranges, launch.range_count)) {
    if (auto error = launch.fence != 0 ? copies.add(range, launch.fence, memory)
                                       : add_in_place(range, memory)) {
      return error;
    }
  }
  return std::nullopt;
}

Outcome refuse(const mla_gfx_launch& launch) {
  if (launch.kernel == nullptr) return usage("field 'kernel' is NULL");
  if (launch.kernarg == nullptr && launch.kernarg_size != 0) {
    return usage(say("field 'kernarg' is NULL, and kernarg_size is ", launch.kernarg_size));
  }
  if (launch.ranges == nullptr && launch.range_count != 0) {
    return usage(say("field 'ranges' is NULL, and range_count is ", launch.range_count));
  }
  for (const mla_gfx_range& range : std::span(launch.ranges, launch.range_count)) {
    if (range.address == nullptr) {
      return usage(
          say("the range '", range.name == nullptr ? "" : range.name, "' has the address NULL"));
    }
  }
  if (launch.order > MLA_GFX_RANDOM) {
    return usage(say("field 'order' is ", static_cast<int>(launch.order), "; expected 0 to 2"));
  }
  if (launch.arrival > MLA_GFX_AFTER) {
    return usage(say("field 'arrival' is ", static_cast<int>(launch.arrival), "; expected 0 to 3"));
  }
  constexpr uint32_t known = MLA_GFX_CHECK_ALL | MLA_GFX_CHECK_BANK_CONFLICTS |
                             MLA_GFX_CHECK_DROPPED | MLA_GFX_CHECK_LANES |
                             MLA_GFX_CHECK_SAME_BARRIER | MLA_GFX_CHECK_COHERENCE;
  if ((launch.checks & ~known) != 0) {
    return usage(say("field 'checks' is ", launch.checks, "; expected a sum of MLA_GFX_CHECK_*"));
  }
  return std::nullopt;
}

Result<gfx::RunOptions> options_of(const mla_gfx_launch& launch) {
  gfx::RunOptions options;
  options.schedule = {
      .slice = launch.slice, .order = static_cast<gfx::Order>(launch.order), .seed = launch.seed};
  options.arrival = {.mode = static_cast<gfx::Arrival::Mode>(launch.arrival),
                     .number = launch.arrival_number};
  options.checks.waits = (launch.checks & MLA_GFX_CHECK_WAITS) != 0;
  options.checks.lds_races = (launch.checks & MLA_GFX_CHECK_LDS_RACES) != 0;
  options.checks.uninitialised = (launch.checks & MLA_GFX_CHECK_UNINITIALISED) != 0;
  options.checks.bank_conflicts = (launch.checks & MLA_GFX_CHECK_BANK_CONFLICTS) != 0;
  options.checks.dropped = (launch.checks & MLA_GFX_CHECK_DROPPED) != 0;
  options.checks.lanes = (launch.checks & MLA_GFX_CHECK_LANES) != 0;
  options.checks.same_barrier = (launch.checks & MLA_GFX_CHECK_SAME_BARRIER) != 0;
  options.checks.coherence = (launch.checks & MLA_GFX_CHECK_COHERENCE) != 0;
  options.fault_limit = std::max(1U, launch.fault_limit);
  options.instruction_limit = launch.instruction_limit;
  if (launch.instruction_limit == MLA_GFX_USUAL_LIMIT) {
    const auto usual = gfx::usual_instruction_limit();
    if (!usual) return usual.error();
    options.instruction_limit = *usual;
  }
  options.threads = launch.threads;
  options.progress = gfx::progress_wanted();
  return options;
}

Outcome launch_on(const mla_gfx_device& device, const mla_gfx_module& module,
                  const mla_gfx_launch& launch, gfx::Interrupts interrupts,
                  mla_gfx_report** report) {
  if (auto refused = refuse(launch)) return refused;
  const auto options = options_of(launch);
  if (!options) return failure_of(options.error());
  const gfx::Kernel* const kernel = module.object.kernel(launch.kernel);
  if (kernel == nullptr) {
    return usage(say("the code object has no kernel '", launch.kernel, "'"));
  }
  gfx::Memory memory;
  FencedCopies copies;
  if (auto error = gather(device, launch, copies, memory)) return outcome_of(error);
  const auto* const bytes = static_cast<const std::byte*>(launch.kernarg);
  std::vector<std::byte> kernarg(bytes, bytes + launch.kernarg_size);
  copies.move_pointers(*kernel, kernarg);
  const gfx::LaunchRequest request = {.kernel = launch.kernel,
                                      .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                      .block = {launch.block[0], launch.block[1], launch.block[2]},
                                      .kernarg = kernarg,
                                      .dynamic_lds = launch.dynamic_lds,
                                      .options = *options};
  const gfx::EndBySignal signals(interrupts);
  auto done = gfx::run(module.object, request, memory);
  if (!done) {
    signals.end_process(done.error().message);
    return failure_of(done.error());
  }
  copies.copy_back();
  copies.restore_addresses(done->faults);
  copies.restore_addresses(done->findings);
  *report = std::make_unique<mla_gfx_report>(make_report(std::move(*done))).release();
  return std::nullopt;
}

int run_with(gfx::Interrupts interrupts, mla_gfx_device* device, const mla_gfx_module* module,
             const mla_gfx_launch* launch, mla_gfx_report** report) {
  return at_border([&]() -> Outcome {
    if (device == nullptr || module == nullptr || launch == nullptr || report == nullptr) {
      return usage("parameter 'device', 'module', 'launch' or 'report' is NULL");
    }
    *report = nullptr;
    return launch_on(*device, *module, *launch, interrupts, report);
  });
}

}  // namespace
}  // namespace mla::c_api

extern "C" {

void mla_gfx_launch_defaults(mla_gfx_launch* launch) {
  if (launch == nullptr) return;
  *launch = {};
  std::fill_n(launch->grid, 3, 1U);
  std::fill_n(launch->block, 3, 1U);
  launch->slice = 4;
  launch->instruction_limit = MLA_GFX_USUAL_LIMIT;
}

int mla_gfx_run(mla_gfx_device* device, const mla_gfx_module* module, const mla_gfx_launch* launch,
                mla_gfx_report** report) {
  return mla::c_api::run_with(mla::gfx::Interrupts::are_the_programs, device, module, launch,
                              report);
}

int mla_gfx_run_interruptibly(mla_gfx_device* device, const mla_gfx_module* module,
                              const mla_gfx_launch* launch, mla_gfx_report** report) {
  return mla::c_api::run_with(mla::gfx::Interrupts::end_too, device, module, launch, report);
}
}
