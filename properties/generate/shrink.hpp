// The shrinker: simpler cases than a given one, most daring first.
//
// Simpler means fewer requests, then shorter ones, then a field nearer to its default: 16 heads,
// block 1, contiguous, bf16, gfx942 with its own compute units. No candidate is less simple in any
// respect, so every chain of them ends. A candidate is as valid as the case: no key or at least as
// many as rows, blocks that are a multiple of the page, scales only where they are read.
// The simplest case has no candidates.
#pragma once

#include <vector>

#include "core/case/case.hpp"

namespace mla::prop {

std::vector<Case> simpler_cases(const Case& c);

}  // namespace mla::prop
