// Owns: the bits of 2/pi, from Machin's formula in fixed point, and what v_trig_preop_f64 makes of
// them: 53 bits from bit 53 * segment on, later where the operand is large.
#pragma once

#include <cstdint>

namespace gfx_test {

[[nodiscard]] double trig_preop(double value, unsigned segment);

}  // namespace gfx_test
