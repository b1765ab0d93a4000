// Tensors of a prefill case: Q, K and V of the new tokens, and the context in its blocks.
//
// Elements are those of properties/generate/elements.hpp: a query row of a head starts with the
// first kQkDim of 576, and a key of a head with the first kQkDim, its value with the next kVDim. A
// key is the same whether it comes with the step or was cached before: only request, position and
// head decide (so that a prompt may be cut anywhere). All are rounded to bf16. Slots that no
// request's context owns hold NaN.
#pragma once

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/prefill/prefill_launch.hpp"

namespace mla::prop {

prefill::PrefillTensors make_prefill_tensors(const Case& c, const Batch& batch);

}  // namespace mla::prop
