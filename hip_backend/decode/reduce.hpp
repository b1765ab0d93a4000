// Reduce: what merges the partial results of a decode run, on buffers that the run owns.
//
// As with Stage1, a maker prepares the launch of its kernel: this project's, or another's
// that keeps the contract of the reduce maps (aiter.md 7). Fails: with what the
// device says, or with the reason why there is no such kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"
#include "hip_backend/admission/admission.hpp"
#include "hip_backend/device/device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {

struct ReduceInput {
  Device& device;
  const DecodeLaunch& launch;
  const RowMap& rows;
  const Admission& admission;
  const ReduceArguments& buffers;  // addresses and shape; what only our kernel reads as well
};

struct ReduceLaunch {
  KernelHandle kernel;
  LaunchSize size;
  std::vector<std::byte> arguments;
  std::vector<Buffer> owned = {};    // lists of its own
  std::string_view backend = "hip";  // whose kernel it is
};

class ReduceMaker {
 public:
  ReduceMaker() = default;
  ReduceMaker(const ReduceMaker&) = delete;
  ReduceMaker& operator=(const ReduceMaker&) = delete;
  virtual ~ReduceMaker() = default;
  [[nodiscard]] virtual Result<ReduceLaunch> make(const ReduceInput& input) const = 0;
};

// The kernel of this project (kernels/reduce.hip).
const ReduceMaker& own_reduce();

}  // namespace mla::hip
