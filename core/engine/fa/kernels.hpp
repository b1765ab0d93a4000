// The kernels that the forward pass of an FA step launches: a table that a backend fills.
//
// Each runs when the stream comes to it, reads device memory through spans, and says in `launches`
// what it launched. Requests of a varlen call lie one after the other: rows [cu_q[r], cu_q[r+1]) of
// q attend tokens [cu_k[r], cu_k[r+1]) of k and v. The paged cache is [2, blocks, block, kv_heads,
// head_dim]; key j of a request is row j % block of block table(r, j / block). Tensors are bf16
// bits, LSE is the natural log in f32. Source: spec vllm_metadata.md 3.3.
// Fails: an index outside its list or its memory becomes a fault, never an access; what depends on
// it is left unwritten.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/fa/layer.hpp"

namespace mla::fa {

// Of one layer: query heads [0, heads) share KV head h / group().
struct TensorShape {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 128;
  float softmax_scale = 1;
  [[nodiscard]] std::int64_t group() const { return heads / kv_heads; }
  // Elements of a query row, and of a key.
  [[nodiscard]] std::int64_t q_row() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t kv_row() const { return kv_heads * head_dim; }
};

// Keys [first, last) of a request.
struct KeyRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Which of its request's `kv_len` keys a row sees. Query rows are right-aligned with the keys; a
// window of w leaves the row's own key and w before it, -1 all of them.
struct Visibility {
  bool causal = true;
  std::int64_t window = -1;
  [[nodiscard]] KeyRange of_row(std::int64_t row, std::int64_t qo_len, std::int64_t kv_len) const;
};

struct KernelContext {
  int threads = 1;
  std::vector<Fault>& faults;
  Launches& launches;
};

// Varlen flash attention over contiguous keys. The launch is sized by the given maxima: a row at or
// beyond max_seqlen_q is not computed, which is a fault.
struct VarlenCall {
  const char* what = "";             // for sentences: "prefill", "extend, chunk"
  std::span<const std::uint16_t> q;  // [rows, heads, dim]
  std::span<const std::uint16_t> k;  // [tokens, kv_heads, dim]
  std::span<const std::uint16_t> v;
  std::span<const std::int32_t> cu_seqlens_q;  // [requests + 1]
  std::span<const std::int32_t> cu_seqlens_k;  // [requests + 1]
  std::int64_t max_seqlen_q = 0;
  std::int64_t max_seqlen_k = 0;
  Visibility visibility;
  TensorShape shape;
  std::span<std::uint16_t> out;  // [rows, heads, dim]
  std::span<float> lse;          // [rows, heads]; empty: not wanted
};

// An attention state: normalised output and LSE of [rows, heads].
struct StateView {
  std::span<const std::uint16_t> out;
  std::span<const float> lse;
};
// Merges two states into `out`, and the LSE into `lse` unless that is empty. A state without keys
// (LSE -inf) is neutral. `out` and `lse` may be those of one of the states.
struct MergeCall {
  StateView a, b;
  TensorShape shape;
  std::span<std::uint16_t> out;
  std::span<float> lse;
};

enum class CachePlane : std::uint8_t { keys, values };

// A window of the physical cache: block b lies at b - first_block, and blocks outside of it are not
// backed.
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
  PagedCache cache;
};

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

// A decode: request r has rows [cu_seqlens_q[r], cu_seqlens_q[r+1]) and seq_lens[r] keys.
struct PagedCall {
  std::span<const std::uint16_t> q;
  PagedCache cache;
  BlockRows blocks;
  std::span<const std::int32_t> cu_seqlens_q;  // [requests + 1]
  std::span<const std::int32_t> seq_lens;      // [requests]
  std::int64_t max_seqlen_q = 1;
  std::int64_t window = -1;
  TensorShape shape;
  std::span<std::uint16_t> out;
};

struct Kernels {
  std::function<void(const KernelContext&, const CacheUpdate&)> update_cache;
  std::function<void(const KernelContext&, const VarlenCall&)> varlen_attention;
  std::function<void(const KernelContext&, const GatherCall&)> gather_cache;
  std::function<void(const KernelContext&, const MergeCall&)> merge_states;
  // One row a request over its whole context, in partitions of 256 keys whose bf16 outputs a second
  // kernel merges. It knows no window, skips requests with several rows, and writes 64 * (dim / 64)
  // elements of a head, as its loops do (BUG-093). No keys: output 0.
  std::function<void(const KernelContext&, const PagedCall&)> paged_attention_v1;
  // Any rows and windows, always masked causally (BUG-108). The launch has max_seqlen_q rows for
  // each request: later ones are not computed (BUG-092).
  std::function<void(const KernelContext&, const PagedCall&)> unified_attention;
};

}  // namespace mla::fa
