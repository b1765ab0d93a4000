// The dense reference: float64 attention over the logical cache, reading no plan and no index list.
//
// For every element it returns the value and a bound on how far any backend may be off, derived
// from the roundoffs in play (docs/reference/numerics.md holds the derivation; the code repeats it
// beside each term). Layouts as in core/engine/backend.hpp: value and bound [rows, model heads,
// 512], lse [rows, model heads]. A row without keys has output 0, LSE -inf and bound 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/backend.hpp"

namespace mla::cpu {

struct ReferenceResult {
  std::vector<double> out;
  std::vector<double> out_bound;
  std::vector<double> lse;
  std::vector<double> lse_bound;
};

struct ReferenceInput {
  const Batch& batch;
  const DecodeTensors& tensors;
  std::span<const std::byte> q = {};  // the rows of the batch; empty: those of `tensors`
  std::int64_t first_slot = 0;        // that the block table counts from
  Arch arch = Arch::gfx942;
  DtypePair dtype;
  std::int64_t model_heads = 16;
  bool causal = true;
};

ReferenceResult dense_reference(const ReferenceInput& input);

}  // namespace mla::cpu
