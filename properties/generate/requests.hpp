// Draws the requests of a case and of its later steps. Private to properties/generate.
#pragma once

#include <vector>

#include "properties/generate/choices.hpp"
#include "properties/generate/domain.hpp"

namespace mla::prop {

// `c` has every field but its requests; their cost stays within the domain's budget wherever one
// request with one row and one key does.
std::vector<RequestSpec> draw_requests(Choices& choices, const CaseDomain& domain, const Case& c);

// The requests of a step that follows `before` on the same buffers: one step on, fewer, longer, or
// others altogether.
std::vector<RequestSpec> draw_later_step(Choices& choices, const CaseDomain& domain, const Case& c,
                                         const std::vector<RequestSpec>& before);

}  // namespace mla::prop
