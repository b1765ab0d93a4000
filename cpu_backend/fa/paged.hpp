// Kernels on the paged cache [2, blocks, block, kv_heads, head_dim]: write, gather, decode.
//
// The cache is a window of the physical one: block b lies at b - first_block, and blocks outside it
// are not backed. A request's key j is row j % block of block table(r, j / block). Source: spec
// vllm_metadata.md 3.3. Fails: an index outside its list or its memory becomes a fault; what
// depends on it is left unwritten.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "cpu_backend/fa/attend.hpp"

namespace mla::cpu {

enum class CachePlane : std::uint8_t { keys, values };

struct PagedCache {
  std::span<std::uint16_t> bits;
  std::int64_t first_block = 0;
  std::int64_t blocks = 0;
  std::int64_t block_size = 16;
  std::int64_t kv_row = 0;  // elements of a token: kv_heads * head_dim

  // The token's elements, or null where no memory backs it.
  [[nodiscard]] std::uint16_t* token(CachePlane plane, std::int64_t block,
                                     std::int64_t offset) const {
    const std::int64_t b = block - first_block;
    if (b < 0 || b >= blocks || offset < 0 || offset >= block_size) return nullptr;
    const std::int64_t planes = plane == CachePlane::values ? blocks : 0;
    return bits.data() + ((planes + b) * block_size + offset) * kv_row;
  }
};

struct BlockRows {
  std::span<const std::int32_t> table;  // [requests, columns], row-major
  std::int64_t columns = 0;
};

// Stores each row's key and value in its slot; slot -1 stores nothing.
struct CacheUpdate {
  std::span<const std::uint16_t> k;  // [rows, kv_heads, dim]
  std::span<const std::uint16_t> v;
  std::span<const std::int64_t> slot_mapping;  // [rows]
};
void update_cache(const CacheUpdate& update, const PagedCache& cache, std::vector<Fault>& faults);

// Token t of [0, total_tokens) belongs to request b = token_to_batch[t] and is its key
// t - cu_seq_lens[b] + seq_starts[b].
struct GatherCall {
  PagedCache cache;
  BlockRows blocks;
  std::span<const std::int32_t> cu_seq_lens;     // [requests + 1]
  std::span<const std::int32_t> seq_starts;      // [requests]
  std::span<const std::int32_t> token_to_batch;  // [at least total_tokens]
  std::int64_t total_tokens = 0;
  std::span<std::uint16_t> workspace;  // [2, tokens, kv_heads, dim]
};
void gather_cache(const GatherCall& call, std::vector<Fault>& faults);

// A decode: request r has rows [cu_seqlens_q[r], cu_seqlens_q[r+1]) and seq_lens[r] keys.
struct PagedCall {
  std::span<const std::uint16_t> q;
  PagedCache cache;
  BlockRows blocks;
  std::span<const std::int32_t> cu_seqlens_q;  // [requests + 1]
  std::span<const std::int32_t> seq_lens;      // [requests]
  std::int64_t max_seqlen_q = 1;
  std::int64_t window = -1;
  FaShape shape;
  std::span<std::uint16_t> out;
  int threads = 1;
};
// One row a request over its whole context, in partitions of 256 keys whose bf16 outputs a second
// kernel merges. It knows no window, skips requests with several rows, and writes 64 * (dim / 64)
// elements of a head, as its loops do (BUG-093). No keys: output 0.
void paged_attention_v1(const PagedCall& call, std::vector<Fault>& faults);
// Any rows and windows, always masked causally (BUG-108). The launch has max_seqlen_q rows for each
// request: later ones are not computed (BUG-092).
void unified_attention(const PagedCall& call, std::vector<Fault>& faults);

}  // namespace mla::cpu
