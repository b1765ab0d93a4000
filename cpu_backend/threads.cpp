#include "cpu_backend/threads.hpp"

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

int all_threads() {
  return omp_get_max_threads();
}
void work_alone() {
  omp_set_num_threads(1);
}

#else

int all_threads() {
  return 1;
}
void work_alone() {}

#endif

}  // namespace mla::cpu
