// Mutants of a code object: one instruction is made weaker, or two neighbours are exchanged,
// everything else stays.
//
// A mutant of a wait waits for nothing, a mutant of a barrier does nothing. A wait before a barrier
// goes behind it, and a wait after an access of memory or LDS goes before it. MutatedDevice runs it
// in the place of the original, under the interface that the HIP backend uses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"

namespace gfx_test {

enum class Mutation : std::uint8_t { no_wait, no_barrier, wait_after_barrier, wait_before_access };

struct Mutant {
  Mutation kind = Mutation::no_wait;
  std::string place;  // "reduce+0x1c"
  std::vector<std::byte> bytes;
  std::vector<std::byte> trapped;  // a trap stands there: shows whether a launch comes by
};

// Every wait and every barrier of one kernel's function, and every pair of such neighbours. A pair
// whose second instruction is the target of a branch is left out. The pairs come last.
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
