// Parts: what a step's lengths say about its decodes, extends and prefills, before any upload.
//
// Pure host arithmetic. An extend's cached context is attended chunk by chunk through a workspace
// that all extends share evenly; under a sliding window one gather fetches the keys of its rows'
// windows instead. Source: spec vllm_metadata.md 3.3. Units: tokens, rows, requests as named; lists
// are int32 as kernels read them. Fails: a request in the wrong run, fewer keys than rows, more
// extends than the workspace has tokens, windows that int32 cannot count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/engine/classify.hpp"
#include "core/engine/fa/host_seq_lens.hpp"
#include "core/result.hpp"

namespace mla::fa {

// Context tokens that the workspace holds in production.
inline constexpr std::int64_t kContextTokensPerChunk = std::int64_t{32} * 1024;

// Chunk c of an extend with `context` cached keys is [min(c*size, context), min((c+1)*size,
// context)).
struct ChunkPlan {
  std::int64_t num_chunks = 0;
  std::vector<std::int32_t> cu_seq_lens;     // [num_chunks, extends + 1], each row starts at 0
  std::vector<std::int32_t> chunk_starts;    // [num_chunks, extends]
  std::vector<std::int32_t> token_to_batch;  // [num_chunks, columns()]: which extend owns a token
  std::vector<std::int64_t> max_seq_lens;    // [num_chunks] longest part of a chunk
  std::vector<std::int64_t> total_token_per_batch;  // [num_chunks] tokens of a chunk

  // Tokens of the largest chunk; a smaller one does not use the tail of its row.
  [[nodiscard]] std::int64_t columns() const;
};
Result<ChunkPlan> plan_chunks(std::span<const std::int64_t> context_lens,
                              std::int64_t workspace_tokens);

// The last min(seq_len, rows + window + 1) keys of every extend.
struct WindowPlan {
  std::vector<std::int32_t> cu_seqlens;      // [extends + 1]
  std::vector<std::int32_t> seq_starts;      // [extends]
  std::vector<std::int32_t> token_to_batch;  // [total_tokens]
  std::int64_t max_seqlens = 0;
  std::int64_t total_tokens = 0;
};
Result<WindowPlan> plan_window(std::span<const std::int64_t> qo_lens,
                               std::span<const std::int64_t> kv_lens, std::int64_t window);

// Owner of each of `tokens` tokens: every end of a request marks the token after it, and the
// running sum of the marks counts the requests that ended before. Empty requests own nothing.
std::vector<std::int32_t> token_owners(std::span<const std::int32_t> cu_seq_lens,
                                       std::int64_t tokens);

struct RunLengths {
  std::int64_t max_query_len = 0;
  std::int64_t max_seq_len = 0;
};
struct ExtendPlan {
  RunLengths lengths;
  ChunkPlan chunks;
  std::optional<WindowPlan> window;  // where the group has layers with one
};

struct StepParts {
  ThreeWaySplit split;
  std::int64_t decode_max_query_len = 0;  // of the decode run
  std::optional<ExtendPlan> extend;
  std::optional<RunLengths> prefill;
};

struct PartsInput {
  std::span<const std::int64_t> qo_lens;
  ThreeWaySplit split;
  std::int64_t window = -1;  // of the group's layers that have one
  std::int64_t workspace_tokens = kContextTokensPerChunk;
};
Result<StepParts> plan_parts(const PartsInput& input, const HostSeqLens& kv_lens);

}  // namespace mla::fa
