// Rows of other widths than 512 + 64 in random cases, for runs that ask for them.
//
// A drawn case keeps everything else, so that the seeds of other runs stay what they are: half of
// the decode cases get one of the widths that models have, or a small one. A pure function of the
// case, the seed and the number.
#pragma once

#include <cstdint>

#include "core/case/case.hpp"

namespace mla::prop {

void draw_widths(Case& c, std::uint64_t seed, std::int64_t number);

}  // namespace mla::prop
