// The dense reference of a prefill step: float64 attention over all keys of a request at once.
//
// All pairs or a sample of them (decode/reference.hpp). It knows no plan, no chunk and no padded
// head. Value and bound for every element as in cpu_backend/decode/reference.hpp, with the same
// error model; layouts: out [rows, heads, kVDim], lse [rows, heads]. Key p of a request comes from
// the context cache below the context's length, and from the new tokens after it. A row without
// keys has output 0, LSE -inf and bound 0.
#pragma once

#include <cstdint>
#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/prefill/prefill_launch.hpp"
#include "cpu_backend/decode/reference.hpp"

namespace mla::cpu {

struct PrefillReferenceInput {
  const Batch& batch;
  const prefill::PrefillTensors& tensors;
  Arch arch = Arch::gfx950;
  Dtype arithmetic = Dtype::bf16;  // fp8: operands are cast first, and the probabilities are fp8
  bool causal = true;              // among the new tokens
  // [requests] parts that are merged in bf16 with what came before; they widen the bound.
  std::vector<std::int64_t> merges;
  Pairs pairs = {};  // to evaluate
};

ReferenceResult prefill_reference(const PrefillReferenceInput& input);

}  // namespace mla::cpu
