// Capability: whether the fp8 prefill kernels may run for a model on a platform, and if not, why.
//
// The platform (architecture, kernels) is the same for all groups of layers; the model (dtypes,
// heads, dimensions) is asked about each time, because two groups may differ in it (BUG-096).
// Every missing piece is named: a fallback is reported, never silent. Source: vLLM #42509,
// #51040, #44544; spec vllm_metadata.md 2.1, 2.3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "core/units.hpp"

namespace mla::prefill {

// Elements of a head: a key has 128 without and 64 with rotary position, a value 128.
inline constexpr std::int64_t kQkDim = 192;
inline constexpr std::int64_t kVDim = 128;

// What an engine finds when it starts.
struct Platform {
  std::string arch;             // as the driver names it
  bool prefill_kernel = false;  // mla_prefill_ps_asm_fwd can be imported
  bool reduce_kernel = false;   // mla_reduce_v1 can be imported
};

struct Model {
  Dtype activations = Dtype::bf16;  // of Q, K and V before they are cast
  Dtype cache = Dtype::fp8;
  Heads heads{16};  // of one rank
  std::int64_t qk_dim = kQkDim;
  std::int64_t v_dim = kVDim;
  std::int64_t context_ranks = 1;  // ranks that share the context of a request (DCP)
};

struct Capability {
  std::vector<std::string> missing;  // one sentence for each missing piece
  [[nodiscard]] bool ok() const { return missing.empty(); }
};

Capability capability_of(const Platform& platform, const Model& model);

}  // namespace mla::prefill
