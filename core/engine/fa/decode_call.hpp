// DecodeCall: the arguments of the kernel that attends a step's decodes.
#pragma once

#include <cstdint>

#include "core/engine/fa/layer.hpp"
#include "core/engine/fa/metadata.hpp"
#include "core/result.hpp"

namespace mla::fa {

struct DecodeCall {
  DecodeRoute route;
  device::DeviceView<std::int32_t> cu_seqlens_q;  // [decodes + 1], not one less (BUG-050)
  std::int64_t max_seqlen_q = 1;                  // rows of the longest decode, not 1 (BUG-092)
};

// Whether the layer masks causally; an error if the metadata has no flag for it.
Result<bool> causal_of(const Layer& layer, const Metadata& metadata);

// Fails: without a causal flag, and where no kernel takes the decodes.
Result<DecodeCall> decode_call(const Layer& layer, const Metadata& metadata);

}  // namespace mla::fa
