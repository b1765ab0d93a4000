// The table of `mla-testbed plan`: everything that was decided about a case, and its plan.
//
// Pure functions from metadata to text. Rows and pages are printed as half-open ranges `4..8`, in
// the numbering of the buffers (kernel rows, pages from kv_indptr[0]).
#pragma once

#include <string>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/decode_metadata.hpp"

namespace mla::app {

// Case, batch, every decision with its reason.
std::string decisions_text(const Case& c, const Batch& batch, const DecodeMetadata& metadata);

// Sizes, works of every slot that has some, and the merge lists; empty on route split.
std::string plan_text(const DecodeMetadata& metadata);
std::string plan_text(const plan::Plan& plan);

}  // namespace mla::app
