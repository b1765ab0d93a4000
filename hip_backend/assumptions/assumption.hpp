// The self-test of the emulator's assumptions: does a device do what
// gfx_emulator/exec/assumptions.hpp says where no manual does?
//
// One small kernel an assumption, one wave, known answers that are computed here from the sentence
// of the assumption and not by the emulator. On an emulated device everything holds, which shows
// that the kernels say what they mean; the answer that matters is a GPU's.
// Fails: a device that is neither gfx942 nor gfx950, a build without its code, a fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

// 64 lanes of kAssumptionWords dwords, lane by lane.
using LaneWords = std::vector<std::uint32_t>;

struct Assumption {
  enum class Compare : std::uint8_t { bits, one_ulp };  // one_ulp: f32, every NaN alike
  const char* name;                                     // as in gfx_emulator/exec/assumptions.hpp
  const char* kernel;
  bool on_gfx942;         // all are on gfx950
  bool beyond_emulation;  // an emulated device reports the access as a fault instead
  std::size_t results;    // dwords of a lane that are compared
  Compare compare;
  LaneWords (*inputs)();
  LaneWords (*expected)(Arch arch, const LaneWords& in);
};

// Those that a kernel can look at.
std::span<const Assumption> testable_assumptions();

struct Untestable {
  const char* name;
  const char* reason;
};
std::span<const Untestable> untestable_assumptions();

// Empty when `out` is what the assumption says; otherwise the first lane that differs, in words.
std::string difference(const Assumption& assumption, Arch arch, const LaneWords& in,
                       const LaneWords& out);

struct AssumptionResult {
  enum class Kind : std::uint8_t { holds, differs, not_tested };
  std::string name;
  Kind kind;
  std::string detail;  // what differs, or why it was not tested
};
Result<std::vector<AssumptionResult>> test_assumptions(Device& device);

}  // namespace mla::hip
