// Run: the steps of an FA case, built and executed on one modelled device, stage by stage.
//
// All steps share the runner's buffers and the builder's workspace, and may be queued before the
// device runs the first. Fails: with the refusal of the first step that is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/fa/forward.hpp"
#include "core/engine/fa/runner.hpp"
#include "cpu_backend/fa/reference.hpp"
#include "properties/step/context.hpp"

namespace mla::prop {

// The lists of a step's metadata as they lay on the device when it had run.
struct FaLists {
  std::vector<std::int32_t> query_start_loc;
  std::vector<std::int32_t> decode_cu_seqlens;  // as the decode kernel was given them
  std::vector<std::int32_t> extend_query_start_loc;
  std::vector<std::int32_t> prefill_query_start_loc;
  std::vector<std::int32_t> cu_seq_lens_chunk, chunk_starts, token_to_batch;
  std::vector<std::int32_t> swa_cu_seqlens, swa_seq_starts, swa_token_to_batch;
};

struct FaStepRun {
  Case spec;  // this step alone
  fa::Layer layer;
  fa::OrderedBatch ordered;
  fa::Tensors tensors;
  fa::StepParts parts;             // what the lists were made of
  std::int64_t max_seqlen_q = 0;   // of the decode kernel
  std::string route;               // of the decode kernel; empty without decodes
  std::vector<std::string> waits;  // what made the host wait for the device
  FaLists lists;
  fa::StepResult result;
};

// A backend without an FA step is an error. `threads`: of every kernel.
Result<std::vector<FaStepRun>> run_fa(const std::vector<Case>& steps, const StepContext& context,
                                      int threads);

// For each request of the step: merges of finished bf16 parts that a part passes at most.
std::vector<std::int64_t> bf16_merges(const FaStepRun& run);

cpu::ReferenceResult reference_of(const FaStepRun& run);

}  // namespace mla::prop
