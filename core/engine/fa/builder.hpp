// MetadataBuilder: from a runner's step to the metadata of the AITER FA backend.
//
// The host knows the query lengths; KV lengths, block table and slots are on the device. A step of
// decodes is views and one number: nothing is copied, nothing waits (P21, BUG-038, BUG-114). Only a
// step with an extend or a prefill pays one copy of the KV lengths. The builder is const and holds
// options and hooks. Source: spec vllm_metadata.md 3.1-3.3. Fails: what plan_parts() refuses,
// cascade attention, buffers of another size than the step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/device/stream.hpp"
#include "core/engine/fa/hooks.hpp"
#include "core/engine/fa/layer.hpp"
#include "core/engine/fa/metadata.hpp"
#include "core/engine/fa/parts.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"

namespace mla::fa {

// What a runner hands over for one step. Under a captured graph the counts are the padded ones.
struct StepInput {
  std::vector<std::int64_t> qo_lens;                 // host; [requests], rows
  device::DeviceView<std::int32_t> query_start_loc;  // [requests + 1]
  device::DeviceView<std::int32_t> seq_lens;         // [requests]
  device::DeviceView<std::int32_t> block_table;      // [requests, columns]
  device::DeviceView<std::int64_t> slot_mapping;     // [rows]
  Rows num_actual_tokens{0};
  std::vector<bool> causal;  // by layer of the group
};

struct BuilderOptions {
  std::int64_t threshold = 1;  // rows that a decode has at most
  std::int64_t window = -1;    // the one window that layers of the group may have
  std::int64_t workspace_tokens = kContextTokensPerChunk;
  Heads kv_heads{1};
  std::int64_t head_dim = 128;
};

// Scratch with a fixed address, one for each stream.
struct BuilderBuffers {
  device::DeviceBuffer<std::uint16_t> extend_workspace;  // [2, workspace tokens, kv_heads, dim]
};

class MetadataBuilder {
 public:
  // `hooks` outlives the builder.
  explicit MetadataBuilder(const BuilderOptions& options, const Hooks& hooks)
      : options_(options), hooks_(hooks) {}
  [[nodiscard]] const BuilderOptions& options() const MLA_LIFETIME_BOUND { return options_; }

  [[nodiscard]] BuilderBuffers allocate(device::DeviceHeap& heap) const;
  // `common_prefix_len` is the engine's cascade prefix, which this backend does not have: 0.
  Result<Metadata> build(std::int64_t common_prefix_len, const StepInput& input,
                         const BuilderBuffers& buffers, device::DeviceHeap& heap,
                         device::Stream& stream) const;
  // The same build; a captured step differs in nothing (no toggling of token counts).
  Result<Metadata> build_for_cudagraph_capture(const StepInput& input,
                                               const BuilderBuffers& buffers,
                                               device::DeviceHeap& heap,
                                               device::Stream& stream) const {
    return build(0, input, buffers, heap, stream);
  }

 private:
  // Stage 0: what of the step does not fit itself; nothing if all does.
  [[nodiscard]] static MaybeError check(const StepInput& input);
  // Stage 1: the KV lengths, copied only if some request is longer than a decode.
  [[nodiscard]] HostSeqLens fetch_seq_lens(const StepInput& input, device::Stream& stream) const;
  // Stage 2: the runs of the batch.
  [[nodiscard]] ThreeWaySplit split(const StepInput& input, const HostSeqLens& kv_lens) const;
  // Stage 3: the numbers of each run.
  [[nodiscard]] Result<StepParts> plan(const StepInput& input, const ThreeWaySplit& split,
                                       const HostSeqLens& kv_lens) const;
  // Stage 4: views, uploads and rebased lists.
  [[nodiscard]] Metadata assemble(const StepInput& input, StepParts parts,
                                  const BuilderBuffers& buffers, device::DeviceHeap& heap,
                                  device::Stream& stream) const;

  BuilderOptions options_;
  const Hooks& hooks_;
};

}  // namespace mla::fa
