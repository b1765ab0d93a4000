// Varlen flash attention over contiguous keys, and the merge of two attention states.
//
// Requests lie one after the other: rows [cu_q[r], cu_q[r+1]) of q attend tokens [cu_k[r],
// cu_k[r+1]) of k and v. The launch is sized by the given maxima: a row at or beyond max_seqlen_q
// is not computed, which is a fault. Output is bf16, LSE natural log in f32. Source: spec
// vllm_metadata.md 3.3. Fails: lists and lengths that do not fit become faults, never accesses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "cpu_backend/fa/attend.hpp"

namespace mla::cpu {

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
  FaShape shape;
  std::span<std::uint16_t> out;  // [rows, heads, dim]
  std::span<float> lse;          // [rows, heads]; empty: not wanted
  int threads = 1;
};
void varlen_attention(const VarlenCall& call, std::vector<Fault>& faults);

// An attention state: normalised output and LSE of [rows, heads].
struct StateView {
  std::span<const std::uint16_t> out;
  std::span<const float> lse;
};
// Merges two states into `out`, and the LSE into `lse` unless that is empty. A state without keys
// (LSE -inf) is neutral. `out` and `lse` may be those of one of the states.
void merge_states(const StateView& a, const StateView& b, const FaShape& shape,
                  std::span<std::uint16_t> out, std::span<float> lse);

}  // namespace mla::cpu
