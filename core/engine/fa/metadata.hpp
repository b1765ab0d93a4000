// Metadata: what a step of the AITER FA backend hands to its layers, and no field more.
//
// Requests stand in the order decodes, extends, prefills; so do their rows. The lists of decodes
// are views of the runner's buffers, which keep their addresses; lists of extends and prefills are
// owned. Everything a kernel needs is in here or in the layer: fields that the engine dropped in
// vLLM #41942 stay dropped (a test lists both). Source: spec vllm_metadata.md 3.2.
// Units: tokens, rows, requests. The stream must have run before the metadata is destroyed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/engine/device/memory.hpp"
#include "core/units.hpp"

namespace mla::fa {

struct DecodePart {
  std::int64_t max_query_len = 0;
};

struct PrefillPart {
  std::int64_t max_query_len = 0;
  std::int64_t max_seq_len = 0;
  device::DeviceBuffer<std::int32_t> query_start_loc;  // [prefills + 1], rebased to 0
};

struct SlidingWindow {
  device::DeviceBuffer<std::int32_t> swa_cu_seqlens;      // [extends + 1]
  device::DeviceBuffer<std::int32_t> swa_seq_starts;      // [extends]
  device::DeviceBuffer<std::int32_t> swa_token_to_batch;  // [swa_total_tokens]
  std::int64_t swa_max_seqlens = 0;
  std::int64_t swa_total_tokens = 0;
  device::DeviceBuffer<std::uint16_t> swa_workspace;  // [2, swa_total_tokens, kv_heads, head_dim]
};

struct ChunkContext {
  device::DeviceView<std::uint16_t> workspace;           // [2, context tokens, kv_heads, head_dim]
  device::DeviceBuffer<std::int32_t> cu_seq_lens_chunk;  // [num_chunks, extends + 1]
  device::DeviceBuffer<std::int32_t> chunk_starts;       // [num_chunks, extends]
  device::DeviceBuffer<std::int32_t> token_to_batch;     // [num_chunks, tokens of the largest]
  std::vector<std::int64_t> max_seq_lens;                // [num_chunks]
  std::int64_t num_chunks = 0;
  std::vector<std::int64_t> total_token_per_batch;  // [num_chunks]
  std::optional<SlidingWindow> swa_metadata;        // where the group has layers with a window
};

struct ExtendPart {
  std::int64_t max_query_len = 0;
  std::int64_t max_seq_len = 0;
  device::DeviceBuffer<std::int32_t> query_start_loc;  // [extends + 1], rebased to 0
  ChunkContext chunk_context;
};

struct Metadata {
  Rows num_actual_tokens{0};  // of all three runs; what is no decode and no extend is a prefill
  Requests num_decodes{0};
  Rows num_decode_tokens{0};
  Requests num_extends{0};
  Rows num_extend_tokens{0};
  Requests num_prefills{0};

  device::DeviceView<std::int64_t> slot_mapping;     // [rows], -1: not cached
  device::DeviceView<std::int32_t> block_table;      // [requests, columns], row-major
  device::DeviceView<std::int32_t> seq_lens;         // [requests]
  device::DeviceView<std::int32_t> query_start_loc;  // [requests + 1]
  std::vector<bool> causal;                          // by layer of the group (BUG-109)

  std::optional<DecodePart> decode;
  std::optional<ExtendPart> extend;
  std::optional<PrefillPart> prefill;

  [[nodiscard]] Requests requests() const { return num_decodes + num_extends + num_prefills; }
};

}  // namespace mla::fa
