// The HIP backend: the decode kernels on whatever device there is.
//
// The same stage contracts and the same buffers as the CPU backend: normalised f32 partials with
// natural-log LSE, bf16 where a work writes its rows directly, and the output after the reduce. A
// device takes cases of its own architecture; an NVIDIA GPU takes both, with fp8 of either variant
// in f32 arithmetic. A schedule seed makes waves sleep at places drawn from it, and an emulated
// device runs them in an order drawn from it. Prefill steps
// launch the device's attention and reduce; gather and merge of context chunks stay on the CPU.
// There is no FA step. Fails: supports() gives the reason. A fault of the device is an error that
// says whether the device works again; a work that may not run becomes a fault of the result and
// never runs.
#pragma once

#include <memory>

#include "core/engine/backend.hpp"
#include "hip_backend/device/device.hpp"

namespace mla::hip {

struct HipOptions {
  std::int64_t whole_cache_bytes = 0;  // see DecodeRunOptions
  bool through_graph = false;          // captures the two kernels and replays the graph
};

std::unique_ptr<Backend> make_hip_backend(std::shared_ptr<Device> device,
                                          const HipOptions& options);

}  // namespace mla::hip
