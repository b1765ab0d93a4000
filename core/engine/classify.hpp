// Classification of a step: which requests are decodes, and in which order an engine puts them.
//
// Request space and token space are kept apart by type (BUG-020), uniformity means equality
// (BUG-016), and a request without cached context is a prefill however short it is (BUG-017).
// Source: vLLM attention backend utilities; spec vllm_metadata.md 5.1-5.3, 3.1.
// Legal padding that makes the original assert gives a ragged decode here (BUG-018).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.hpp"

namespace mla {

struct ThresholdQuery {
  std::int64_t backend_threshold = 1;  // rows that the backend's decode path takes
  std::int64_t speculative_tokens = 0;
  bool parallel_drafting = false;
  bool speculation_as_decode = true;  // the backend verifies drafts on its decode path
  bool single_row_only = false;
  bool context_parallel = false;
  bool context_parallel_rows = false;  // supports several rows under context parallelism
};

// Longest request, in query rows, that counts as a decode. Eagle3 with k draft tokens verifies k
// + 1.
std::int64_t reorder_threshold(const ThresholdQuery& query);

struct StepRequest {
  std::int64_t scheduled = 1;  // query rows of this step
  std::int64_t computed = 0;   // keys that were cached before it
};

enum class Region : std::uint8_t { decode, extend, prefill };

Region region_of(const StepRequest& request, std::int64_t threshold);

// order[i] is the index of the request that goes to place i: decodes, extends, prefills, each in
// the order in which they came.
std::vector<std::size_t> decode_first_order(std::span<const StepRequest> requests,
                                            std::int64_t threshold);

struct DecodeSplit {
  Requests decodes{0};
  Requests prefills{0};
  Rows decode_rows{0};  // padded rows included where everything is decode
  Rows prefill_rows{0};
  bool uniform = false;  // every decode has the same number of rows, or none as padding
};

struct SplitInput {
  std::span<const std::int64_t> qo_lens;  // decodes first
  std::int64_t threshold = 1;
  bool require_uniform = false;
  Rows num_rows{0};  // rows of the step, padding included; at least the sum of qo_lens
};

// Cuts a reordered batch in its decode prefix and the rest.
DecodeSplit split_decodes_and_prefills(const SplitInput& input);

// The three runs of a reordered batch: decodes, extends, prefills.
struct ThreeWaySplit {
  Requests decodes{0};
  Requests extends{0};
  Requests prefills{0};
  Rows decode_rows{0};  // padded rows included where everything is decode
  Rows extend_rows{0};
  Rows prefill_rows{0};
  bool operator==(const ThreeWaySplit&) const = default;
};

struct ThreeWaySplitInput {
  std::span<const std::int64_t> qo_lens;  // decodes first, prefills last
  // Read only if some request is longer than the threshold; otherwise it may be empty, so that a
  // step of decodes needs no length from the device.
  std::span<const std::int64_t> kv_lens;
  std::int64_t threshold = 1;
  Rows num_rows{0};  // rows of the step, padding included; at least the sum of qo_lens
};

// Whether `qo_lens` alone decides the split: nothing is longer than the threshold.
bool all_decodes(std::span<const std::int64_t> qo_lens, std::int64_t threshold);

// A decode has at most `threshold` rows. The first longer request starts the extends, the first
// longer one without context (as many keys as rows) the prefills; a short request after one of
// them belongs to its run.
ThreeWaySplit split_decodes_prefills_and_extends(const ThreeWaySplitInput& input);

}  // namespace mla
