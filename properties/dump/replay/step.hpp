// CapturedStep: a dump that holds Q and cache as well, ready to be executed again.
//
// Beside the planner call and its buffers such a dump has
//   q               [rows, heads, key] in dtype_q, bf16 as 16-bit integers; as in out and lse, rows
//                   of a graph's padding may follow
//   kv_indices      [pages] as the kernel got them; entries after the live ones may follow
//   kv_cache_pages  [n] ids of the pages that were dumped, each once
//   kv_cache        [n, page_size, key] in dtype_kv
//   out, lse        [rows, heads, value] bf16 and [rows, heads] f32, what the engine got; optional
// and the scalars softmax_scale, q_scale and kv_scale. Heads are those of the kernel call, padded
// if the engine pads. Without plan buffers the step ran with splits. Page ids are replaced by their
// place among the dumped pages, which changes no result (P18); what goes wrong with large ids only
// is not seen. Fails: names the array that is missing, too long or
// short or of another encoding, the page that was not dumped, or why no kernel takes the shape.
#pragma once

#include <memory>
#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/backend.hpp"
#include "core/result.hpp"
#include "properties/dump/dump.hpp"

namespace mla::dump {

// Does not move: the metadata refers to the lists.
struct CapturedStep {
  Case spec;  // what the call says, with the lengths of the requests
  Batch batch;
  DecodeBuffers lists;
  DecodeMetadata metadata;
  DecodeTensors tensors;
  std::vector<std::uint16_t> out;  // of the engine; empty: not captured
  std::vector<float> lse;

  CapturedStep() = default;
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;
};

// Of a dump that check() finds no fault of the batch with.
Result<std::unique_ptr<CapturedStep>> captured_step(const Dump& dump);

}  // namespace mla::dump
