// Draws what only FA steps have: layers, drafts, and batches of decodes, extends and prefills.
//
// Nearly every drawn case is one that the backend takes: bf16, blocks of 16 or 32 tokens, KV heads
// that divide the heads. A third of the steps are decodes only, as most of an engine's are. Private
// to properties/generate.
#pragma once

#include "core/case/case.hpp"
#include "properties/generate/choices.hpp"
#include "properties/generate/domain.hpp"

namespace mla::prop {

// Everything of `c` but layout, data and origin; its cost stays within the domain's budget.
void draw_fa_fields(Choices& choices, const CaseDomain& domain, Case& c);

}  // namespace mla::prop
