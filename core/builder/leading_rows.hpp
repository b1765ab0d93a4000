// Leading rows: what an engine's forward pass does around a kernel that takes more rows than a
// request has.
//
// ResolvedShape::leading_rows zero rows stand in front of every request while the kernel runs; keys
// are right-aligned with the rows, so the others keep what they see, and the engine drops the
// results of the zero rows, which may have no key at all. Units: rows of `metadata`'s launch.
// Source: vllm_metadata.md 1.4, G3 steps 7 and 12. Fails: never, for a Q of the batch's size.
#pragma once

#include <cstddef>
#include <vector>

#include "core/backend.hpp"

namespace mla {

// Q as the kernel gets it: [launch rows, model heads, 576].
std::vector<std::byte> with_leading_rows(const DecodeMetadata& metadata,
                                         const std::vector<std::byte>& q);

// Drops the leading rows from output and LSE; intermediate buffers stay those of the launch.
void cut_leading_rows(const DecodeMetadata& metadata, DecodeResult& result);

}  // namespace mla
