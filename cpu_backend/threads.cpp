#include "cpu_backend/threads.hpp"

#include <algorithm>

#include "core/startable_threads.hpp"

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#endif

namespace mla::cpu {

#ifdef _OPENMP

namespace {

[[maybe_unused]] const int after_a_fork =
    pthread_atfork(nullptr, nullptr, [] { omp_set_max_active_levels(0); });

}  // namespace

int team(int wanted) {
  if (omp_get_max_active_levels() == 0) return 1;
  const int most = wanted > 0 ? wanted : omp_get_max_threads();
  return startable_threads(std::min(most, omp_get_thread_limit()));
}
void work_alone() {
  omp_set_num_threads(1);
}

#else

int team(int) {
  return 1;
}
void work_alone() {}

#endif

}  // namespace mla::cpu
