// mla_gfx.h: running a kernel.
#include <algorithm>

#include "core/say.hpp"
#include "properties/c_api/border.hpp"
#include "properties/c_api/gfx_fence.hpp"
#include "properties/c_api/gfx_interrupt.hpp"
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
  constexpr uint32_t known =
      MLA_GFX_CHECK_ALL | MLA_GFX_CHECK_BANK_CONFLICTS | MLA_GFX_CHECK_DROPPED;
  if ((launch.checks & ~known) != 0) {
    return usage(say("field 'checks' is ", launch.checks, "; expected a sum of MLA_GFX_CHECK_*"));
  }
  return std::nullopt;
}

gfx::RunOptions options_of(const mla_gfx_launch& launch) {
  gfx::RunOptions options;
  options.schedule = {
      .slice = launch.slice, .order = static_cast<gfx::Order>(launch.order), .seed = launch.seed};
  options.checks.waits = (launch.checks & MLA_GFX_CHECK_WAITS) != 0;
  options.checks.lds_races = (launch.checks & MLA_GFX_CHECK_LDS_RACES) != 0;
  options.checks.uninitialised = (launch.checks & MLA_GFX_CHECK_UNINITIALISED) != 0;
  options.checks.bank_conflicts = (launch.checks & MLA_GFX_CHECK_BANK_CONFLICTS) != 0;
  options.checks.dropped = (launch.checks & MLA_GFX_CHECK_DROPPED) != 0;
  options.fault_limit = std::max(1U, launch.fault_limit);
  options.instruction_limit = launch.instruction_limit;
  options.threads = launch.threads;
  return options;
}

Outcome launch_on(const mla_gfx_device& device, const mla_gfx_module& module,
                  const mla_gfx_launch& launch, mla_gfx_report** report) {
  if (auto refused = refuse(launch)) return refused;
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
                                      .options = options_of(launch)};
  auto done = gfx::run(module.object, request, memory);
  if (!done) return failure_of(done.error());
  copies.copy_back();
  copies.restore_addresses(done->faults);
  copies.restore_addresses(done->findings);
  *report = std::make_unique<mla_gfx_report>(make_report(std::move(*done))).release();
  return std::nullopt;
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
}

int mla_gfx_run(mla_gfx_device* device, const mla_gfx_module* module, const mla_gfx_launch* launch,
                mla_gfx_report** report) {
  return mla::c_api::at_border([&]() -> std::optional<mla::c_api::Failure> {
    if (device == nullptr || module == nullptr || launch == nullptr || report == nullptr) {
      return mla::c_api::usage("parameter 'device', 'module', 'launch' or 'report' is NULL");
    }
    *report = nullptr;
    return mla::c_api::launch_on(*device, *module, *launch, report);
  });
}

int mla_gfx_run_interruptibly(mla_gfx_device* device, const mla_gfx_module* module,
                              const mla_gfx_launch* launch, mla_gfx_report** report) {
  const mla::c_api::EndOnInterrupt guard;
  return mla_gfx_run(device, module, launch, report);
}
}
