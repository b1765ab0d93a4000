// Draws the requests of a case. Private to properties/generate.
#pragma once

#include <vector>

#include "properties/generate/choices.hpp"
#include "properties/generate/domain.hpp"

namespace mla::prop {

// `c` has every field but its requests; their cost stays within the domain's budget wherever one
// request with one row and one key does.
std::vector<RequestSpec> draw_requests(Choices& choices, const CaseDomain& domain, const Case& c);

}  // namespace mla::prop
