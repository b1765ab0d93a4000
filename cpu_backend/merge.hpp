// Merging partial rows into output rows.
//
// The k-th partial of a row is a normalised f32 output o_k with its natural-log LSE l_k; the result
// is sum_k e^(l_k - g) o_k with g = ln sum_k e^(l_k), all in f32, computed in one of the two
// orders that the reducer has (aiter.md 7). A partial with LSE -inf has weight 0; if all have, the
// output is 0 and the LSE -inf (the original gives NaN and +inf there). A NaN LSE gives NaN: it is
// an error of the producer and stays visible.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/decode/buffers.hpp"

namespace mla::cpu {

// The LSE of a row that sees no key.
inline constexpr float kNoKey = -std::numeric_limits<float>::infinity();

enum class MergeForm : std::uint8_t {
  running,  // one pass with a running maximum: what the reducer does for 2 or 3 partials
  weighted  // maximum, sum and weights first: what it does for 4 and more
};

// One kernel row and the partial rows that make it: list.partials[first, first + count).
struct MergeRow {
  std::int64_t row = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  MergeForm form = MergeForm::running;
};

struct MergeList {
  std::vector<MergeRow> rows;  // no two with the same `row`
  std::vector<std::int64_t> partials;
  std::vector<Fault> faults;
};

// Merges the heads of one row: lse[k] and out[k] are those of partial k. Returns the merged LSE
// and leaves the output in `merged` (as many values as it has).
float merge_partials(MergeForm form, std::span<const float* const> out, std::span<const float> lse,
                     std::span<float> merged);

void run_merge(const MergeList& list, Bf16Rounding rounding, int threads, KernelBuffers& buffers);

}  // namespace mla::cpu
