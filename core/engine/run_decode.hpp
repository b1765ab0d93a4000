// run_decode: what an engine's forward pass does around the decode kernel of a backend.
//
// Where a kernel takes more rows than a request has, ResolvedShape::leading_rows zero rows stand in
// front of every request while it runs; keys are right-aligned with the rows, so the others keep
// what they see. The results of the zero rows, which may have no key at all, are dropped;
// intermediate buffers stay those of the launch. Source: vllm_metadata.md 1.4, G3 steps 7 and 12.
#pragma once

#include "core/engine/backend.hpp"
#include "core/engine/decode_hooks.hpp"

namespace mla {

// Output and LSE have the rows of the batch. Fails: as the backend does, and as check_launch()
// where Q has other rows than the requests.
Result<DecodeResult> run_decode(const Backend& backend, const DecodeLaunch& launch,
                                const ExecutionOptions& options, const DecodeHooks& hooks);

}  // namespace mla
