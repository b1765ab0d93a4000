// The stream of torch for HIP, which a torch for the CPU has not: there is one.
#pragma once

#include "hip/hip_runtime.h"

namespace at::hip {

struct HIPStream {
  hipStream_t stream() const { return nullptr; }
  operator hipStream_t() const { return nullptr; }  // NOLINT: implicit as torch's
};
inline HIPStream getCurrentHIPStream(signed char = -1) {
  return {};
}

}  // namespace at::hip
