// A device that executes the machine code of gfx942 or gfx950 on the CPU, through mla::gfx.
//
// Memory is host memory in named ranges, and an access outside all of them is a fault that names
// kernel, instruction and address. Launches on a stream run at once; a graph is the list of
// launches and copies that were recorded. What the checks of the emulator find (results used before
// they are waited for, races in LDS, registers read before they are written) is a fault like any
// other. Fails: as the emulator says; after a fault the device goes on working.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::gfx {
struct LaunchReport;
}

namespace mla::hip {

struct EmulatedOptions {
  bool checks = false;  // the checks that cost time
  // Order of the waves in launches that ask for none: 0 in turns, otherwise drawn from this.
  std::uint64_t schedule = 0;
  std::uint64_t instruction_limit = 0;  // of a wave; one that goes on is a fault. 0: none
  // Called after every launch, with the kernel's name.
  std::function<void(std::string_view kernel, const gfx::LaunchReport& report)> observe = {};
};

std::unique_ptr<Device> make_emulated_device(Arch arch, const EmulatedOptions& options);

}  // namespace mla::hip
