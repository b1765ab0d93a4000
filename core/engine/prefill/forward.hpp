// The forward pass of a prefill step: what it queues on the stream, on whichever path.
//
// flash: varlen attention over the new tokens; with context, gather and attention chunk by chunk,
// merged by LSE. fp8: casts, the persistent kernel, the reduce; output straight into the result
// where no heads are padded. Scratch of the fp8 kernels comes from the locked workspace. Source:
// vLLM #42509, #42978; spec vllm_metadata.md 2.1-2.4.
// Fails: tensors that contradict the metadata, a workspace that does not suffice; nothing is queued
// then. What a plan does wrong is a fault of the result.
#pragma once

#include "core/engine/device/stream.hpp"
#include "core/engine/device/workspace.hpp"
#include "core/engine/prefill/kernels.hpp"
#include "core/engine/prefill/prefill_launch.hpp"

namespace mla::prefill {

// Launch and result outlive the stream's run of what is queued; the result is complete then.
MaybeError queue_prefill(const PrefillLaunch& launch, const Kernels& kernels,
                         const ExecutionOptions& options, device::Stream& stream,
                         device::Workspace& workspace, PrefillResult& result);

}  // namespace mla::prefill
