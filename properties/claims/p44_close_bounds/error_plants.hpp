// Errors planted on both sides of the bounds of one (row, head) pair.
#pragma once

#include <optional>
#include <string>

#include "properties/claims/p44_close_bounds/row_arithmetic.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {

// Asks the subject's comparison about results that are as far off as the bounds allow, all at once,
// and about single elements that are one number farther: the nearest bf16 beyond the bound, and for
// the LSE the nearest f32. Nothing if it reports these and none of those.
std::optional<std::string> misjudged_error(const Subject& subject, const RowBounds& bounds,
                                           Random& random);

}  // namespace mla::prop
