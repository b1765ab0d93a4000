// The dense reference of an FA step: float64 grouped-query attention over the logical keys, reading
// no metadata. All pairs or a sample of them (decode/reference.hpp).
//
// Key p of a request with q rows and n keys is its new token p - (n - q) where it has one,
// otherwise what the cache holds at its place. Value and bound are [rows, heads, head_dim], and
// there is no LSE; the bound is that of ErrorModel (docs/reference/numerics.md). A row without keys
// has output 0 and bound 0.
#pragma once

#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/fa/layer.hpp"
#include "core/engine/fa/tensors.hpp"
#include "cpu_backend/decode/reference.hpp"

namespace mla::cpu {

struct FaReferenceInput {
  const Batch& batch;
  const fa::Tensors& tensors;
  const fa::Layer& layer;
  bool causal = true;
  // For each request: merges of finished bf16 parts (partitions, chunks) that a part passes at
  // most.
  std::vector<std::int64_t> bf16_merges;
  Pairs pairs = {};  // to evaluate
};
ReferenceResult fa_reference(const FaReferenceInput& input);

}  // namespace mla::cpu
