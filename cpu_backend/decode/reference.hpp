// The dense reference: float64 attention over the logical cache, reading no plan and no index list.
//
// For every element it returns the value and a bound on how far any backend may be off, derived
// from the roundoffs in play (docs/reference/numerics.md holds the derivation; the code repeats it
// beside each term). Layouts as in core/engine/backend.hpp: value and bound [rows, model heads,
// value], lse [rows, model heads]; widths are those of the cache. A row without keys has output 0,
// LSE -inf and bound 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  // Elements of a value.
  [[nodiscard]] std::size_t dims() const { return lse.empty() ? 0 : out.size() / lse.size(); }
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

// Of a sample of (row, head) pairs, for steps that are too large for all: a pair that is not
// evaluated has value 0, LSE 0 and the bound kNotEvaluated: whatever is finite is within it. Rows
// that see no key are always evaluated. Keys are streamed: memory is the result's and a few MB,
// whatever the context.
inline constexpr double kNotEvaluated = std::numeric_limits<double>::max();

// Pairs (row * heads + head), ascending; empty: all of the step.
using Pairs = std::span<const std::int64_t>;

inline bool has_pair(Pairs pairs, std::int64_t pair) {
  return pairs.empty() || std::binary_search(pairs.begin(), pairs.end(), pair);
}

ReferenceResult sampled_reference(const ReferenceInput& input, Pairs pairs);

}  // namespace mla::cpu
