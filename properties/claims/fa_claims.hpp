// The claims about FA steps, one function each; the catalogue gives them ids, next to the checks of
// other kinds of steps under the same id.
//
// Each looks at the steps of a case as run_fa() executed them. An Outcome
// is the answer.
#pragma once

#include "properties/step/property.hpp"

namespace mla::prop {

Outcome fa_rebuild_equals_fresh(Subject& subject);  // P03
Outcome fa_indptr_shape(Subject& subject);          // P04
Outcome fa_qlen_sweep(Subject& subject);            // P12
Outcome fa_page_relabel(Subject& subject);          // P18
Outcome fa_no_sync(Subject& subject);               // P21
Outcome fa_chunk_merge(Subject& subject);           // P25
Outcome fa_classify(Subject& subject);              // P26
Outcome fa_kernel_available(Subject& subject);      // P28
Outcome fa_causal_flag(Subject& subject);           // P29

Outcome decode_causal_flag(Subject& subject);  // P29, of decode steps

}  // namespace mla::prop
