// Draws what prefill steps have: few heads, long queries, context in some batches.
//
// Nearly every drawn case is one that a prefill takes; three in four run on the fp8 kernel if they
// have no context, and small compute unit counts make its plans cut tiles. Private to
// properties/generate.
#pragma once

#include "core/case/case.hpp"
#include "properties/generate/choices.hpp"
#include "properties/generate/domain.hpp"

namespace mla::prop {

// Everything of `c` but layout, data, origin and schedule; its cost stays within the domain's
// budget, but for one least request.
void draw_prefill_fields(Choices& choices, const CaseDomain& domain, Case& c);

}  // namespace mla::prop
