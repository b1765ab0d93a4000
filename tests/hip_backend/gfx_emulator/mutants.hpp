// Mutants of a code object: one instruction is made weaker, everything else stays.
//
// A mutant of a wait waits for nothing, a mutant of a barrier does nothing. MutatedDevice runs it
// in the place of the original, under the interface that the HIP backend uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"

namespace gfx_test {

struct Mutant {
  bool barrier = false;  // otherwise a wait
  std::string place;     // "reduce+0x1c"
  std::vector<std::byte> bytes;
  std::vector<std::byte> trapped;  // a trap stands there: shows whether a launch comes by
};

// Every wait and every barrier of one kernel's function.
[[nodiscard]] std::vector<Mutant> mutants_of(std::span<const std::byte> code,
                                             const std::string& kernel);

struct MutatedOptions {
  bool checks = true;
  std::uint64_t schedule = 0;  // a seed of drawn_timing()
  mla::gfx::Arrival arrival = {};
};

// An emulated device that takes `replacement` where it is asked for a kernel of `original`.
[[nodiscard]] std::shared_ptr<mla::hip::Device> make_mutated_device(
    mla::Arch arch, const MutatedOptions& options, std::span<const std::byte> original,
    std::span<const std::byte> replacement);

}  // namespace gfx_test
