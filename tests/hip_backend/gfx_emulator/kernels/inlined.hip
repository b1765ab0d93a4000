// The test counts these lines.
#include "hip/inlined.h"

DEVICE inline void helper(u32* place) {
  add_one_behind(place);
  place[7] = 3;
}

KERNEL(64) inlined(u32* out) {
  helper(out + 64 * thread());
}
