// The claims about prefill steps, one function each; the catalogue gives them ids.
//
// They share ids with the decode claims of the same subject matter. An
// Outcome is the answer.
#pragma once

#include "properties/step/property.hpp"

namespace mla::prop {

Outcome prefill_plan_coverage(Subject& subject);    // P05
Outcome prefill_head_pad(Subject& subject);         // P14
Outcome prefill_dtype_threading(Subject& subject);  // P15
Outcome prefill_stream_order(Subject& subject);     // P20
Outcome p22_workspace_reserved(Subject& subject);
Outcome prefill_bound_tight(Subject& subject);   // P23
Outcome prefill_lse_contract(Subject& subject);  // P24
Outcome p25_chunk_merge(Subject& subject);

}  // namespace mla::prop
