// Stands for a header of HIP: its functions are inlined into those of the user.
#pragma once

#include "../device.hpp"

DEVICE inline void add_one(u32* place) {
  __hip_atomic_fetch_add(place, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE inline void add_one_behind(u32* place) {
  add_one(place + 1);
}
