// How many host threads a launch or a copy takes.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/startable_threads.hpp"

namespace mla::gfx {

// `asked`, or OpenMP's choice for 0; no more than can be started.
inline int host_threads([[maybe_unused]] int asked) {
#ifdef _OPENMP
  return startable_threads(asked > 0 ? asked : omp_get_max_threads());
#else
  return 1;
#endif
}

}  // namespace mla::gfx
