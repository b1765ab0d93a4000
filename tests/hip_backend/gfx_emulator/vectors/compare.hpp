// Owns: when a result is what was expected.
#pragma once

#include "numbers.hpp"
#include "vector.hpp"

namespace gfx_test {

[[nodiscard]] bool same(u64 got, u64 wanted, Compare compare);

}  // namespace gfx_test
