// CapturedStep: a bundle that holds Q and cache as well, ready to be executed again.
//
// Beside the planner call and its buffers (planner_call.hpp) such a bundle has
//   q               [rows, heads, 576] in dtype_q, bf16 as 16-bit integers; as in out and lse, rows
//                   of a graph's padding may follow
//   kv_indices      [pages] as the kernel got them; entries after the live ones may follow
//   kv_cache_pages  [n] ids of the pages that were dumped, each once
//   kv_cache        [n, page_size, 576] in dtype_kv
//   out, lse        [rows, heads, 512] bf16 and [rows, heads] f32, what the engine got; optional
// and the scalars softmax_scale, q_scale and kv_scale. Heads are those of the kernel call, padded
// if the engine pads. Without plan buffers the step ran with splits. Page ids are replaced by their
// place among the dumped pages, which changes no result (P18); what goes wrong with large ids only
// is not seen. Private to properties/cli. Fails: names the array that is missing, too long or
// short or of another encoding, the page that was not dumped, or why no kernel takes the shape.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/backend.hpp"
#include "properties/capture/bundle.hpp"

namespace mla::cli {

// Arrays that only a replay reads.
bool is_tensor(std::string_view key);

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

Result<std::unique_ptr<CapturedStep>> read_captured_step(const Bundle& bundle);

// The step of a case as an engine would have dumped it, with the result of `backend`. Fails: a case
// whose engine pads or cuts up requests before the kernel sees them.
Result<Bundle> capture_case(const Case& c, const Backend& backend);

}  // namespace mla::cli
