// Context chunks: which cached keys of which requests are gathered and attended together.
//
// Context is what a request had before the step. It is gathered into a workspace of fixed size, so
// a long one is attended in several chunks, and the partial results are merged by their LSE. Two
// rules: the even one divides the workspace over the requests with context (before vLLM #50613,
// BUG-104), the packed one fills it request by request. Source: spec vllm_metadata.md 2.4. Units:
// tokens of context, query rows counted from the first of the step.
// Fails: a workspace that holds no aligned piece, or so little that a context takes more chunks
// than kMostChunks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/decode_metadata.hpp"
#include "core/engine/prefill/prefill_shape.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace mla::prefill {

// More than any engine makes of its longest context; their lists would fill the memory.
inline constexpr std::int64_t kMostChunks = 1 << 16;
// Refuses so many chunks; FA extends have the same limit.
MaybeError too_many_chunks(std::int64_t workspace_tokens, std::int64_t chunks);

struct ContextQuery {
  std::span<const std::int64_t> context_lens;  // [requests] tokens
  std::span<const std::int64_t> qo_lens;       // [requests] rows
  std::int64_t workspace_tokens = 65536;
  std::int64_t block_size = 1;  // tokens; pieces begin at a multiple
  std::int64_t ranks = 1;       // ranks that share a context (packed rule only)
  std::int64_t interleave = 1;  // neighbouring tokens on one rank
};

struct ContextChunk {
  std::int64_t first_request = 0;  // requests [first_request, first_request + requests())
  RowRange rows;                   // their query rows
  // Rows [rows.begin, continuation_end) have partial results of earlier chunks and are merged; the
  // others are written for the first time.
  std::int64_t continuation_end = 0;
  std::vector<std::int32_t> starts;           // [requests] first context token of the piece
  std::vector<std::int32_t> seq_lens;         // [requests] tokens of the piece; even rule: maybe 0
  std::vector<std::int32_t> cu_seq_lens;      // [requests + 1]
  std::vector<std::int32_t> token_to_seq;     // [tokens] request within the chunk
  std::vector<std::int32_t> query_start_loc;  // [requests + 1] from 0
  std::int64_t max_seq_len = 0;
  std::int64_t max_query_len = 0;
  // With several ranks: where each piece starts on one rank, and its padded length there.
  std::vector<std::int64_t> local_starts;
  std::vector<std::int64_t> padded_local_lens;

  [[nodiscard]] std::int64_t requests() const { return static_cast<std::int64_t>(seq_lens.size()); }
  [[nodiscard]] std::int64_t tokens() const { return cu_seq_lens.back(); }
  [[nodiscard]] bool is_continuation() const { return continuation_end > rows.begin; }
};

struct ContextChunks {
  std::vector<ContextChunk> chunks;
  std::vector<RowRange> empty_rows;  // rows that no chunk writes: output 0 and LSE -inf
};

// Tokens of the workspace that an engine allocates for these limits.
std::int64_t context_workspace_tokens(Tokens max_model_len, Requests max_requests,
                                      std::int64_t block_size);

// No chunk at all if no request has context.
Result<ContextChunks> split_context_evenly(const ContextQuery& query);
Result<ContextChunks> pack_context(const ContextQuery& query);
Result<ContextChunks> context_chunks(ChunkRule rule, const ContextQuery& query);

}  // namespace mla::prefill
