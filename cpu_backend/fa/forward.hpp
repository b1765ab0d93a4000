// The forward pass of one layer of the AITER FA backend, queued on a stream.
//
// Stores the new keys, then attends the three runs of rows: prefills over their own new tokens;
// extends over their new tokens and, chunk by chunk, their context, merged by LSE (under a window:
// one gather, one windowed call); decodes over the paged cache. Launch sizes come from the
// metadata's host fields when a kernel is queued, contents of lists when it runs. Source: spec
// vllm_metadata.md 3.3. Lifetime: metadata and tensors outlive the queued operations.
// Fails: a layer that the metadata does not fit, or that no kernel takes; what kernels find while
// they run goes to the tensors' faults.
#pragma once

#include <cstdint>

#include "core/builder/device/stream.hpp"
#include "core/builder/fa/layer.hpp"
#include "core/builder/fa/metadata.hpp"
#include "core/result.hpp"
#include "cpu_backend/fa/tensors.hpp"

namespace mla::cpu {

// One layer's launch. `threads`: of every kernel.
struct FaLaunch {
  const fa::Layer& layer;
  const fa::Metadata& metadata;
  const FaDeviceTensors& tensors;
  int threads = 1;
};

// The arguments of the decode kernel.
struct FaDecodeCall {
  fa::DecodeRoute route;
  device::DeviceView<std::int32_t> cu_seqlens_q;  // [decodes + 1], not one less (BUG-050)
  std::int64_t max_seqlen_q = 1;                  // rows of the longest decode, not 1 (BUG-092)
};
Result<FaDecodeCall> decode_call(const fa::Layer& layer, const fa::Metadata& metadata);

// What stands against the launch; nothing if every part of it can be queued.
Status check_launch(const FaLaunch& launch);

// Each queues the kernels of one part of a checked launch; nothing if the step has none of it.
// queue_extend() lies in extend.cpp.
void queue_cache_update(const FaLaunch& launch, device::Stream& stream);
void queue_prefill(const FaLaunch& launch, device::Stream& stream);
void queue_extend(const FaLaunch& launch, device::Stream& stream);
void queue_decode(const FaLaunch& launch, const FaDecodeCall& call, device::Stream& stream);

// All of them, after check_launch().
Status queue_forward(const FaLaunch& launch, device::Stream& stream);

}  // namespace mla::cpu
