// The forward pass of one layer of the AITER FA backend, queued on a stream.
//
// Stores the new keys, then attends the three runs of rows: prefills over their own new tokens;
// extends over their new tokens and, chunk by chunk, their context, merged by LSE (under a window:
// one gather, one windowed call); decodes over the paged cache. Launch sizes come from the
// metadata's host fields when a kernel is queued, contents of lists when it runs. Source: spec
// vllm_metadata.md 3.3. Lifetime: what a launch names outlives the queued operations.
// Fails: a layer that the metadata does not fit, or that no kernel takes; what kernels find while
// they run goes to the tensors' faults.
#pragma once

#include "core/engine/device/stream.hpp"
#include "core/engine/fa/hooks.hpp"
#include "core/engine/fa/layer_launch.hpp"
#include "core/result.hpp"

namespace mla::fa {

// Queues the kernels of all parts that the step has; nothing if one of them cannot be queued.
MaybeError queue_forward(const LayerLaunch& launch, device::Stream& stream, const Hooks& hooks);

// The kernels of the extends of a checked launch (extend.cpp).
void queue_extend(const LayerLaunch& launch, device::Stream& stream);

}  // namespace mla::fa
