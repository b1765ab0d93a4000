// Tensors of an FA step: Q, the keys and values of the new tokens, and the cache before the step.
//
// Every element is a function of (data seed, tensor, request of the case, row or position, head,
// dimension): neither the order in which an engine runs the requests nor the place of a block
// changes a value. The cache holds the context of every request; the slots of new tokens hold NaN
// until the step stores them, as do slots that no request owns.
#pragma once

#include "core/case/case.hpp"
#include "core/engine/fa/layer.hpp"
#include "core/engine/fa/runner.hpp"
#include "core/engine/fa/tensors.hpp"

namespace mla::prop {

fa::Tensors make_fa_tensors(const Case& c, const fa::OrderedBatch& ordered, const fa::Layer& layer);

}  // namespace mla::prop
