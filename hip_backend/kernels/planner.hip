// plan: planner v1.2 on the device, one workgroup, element for element what core/plan computes.
//
// All threads add up the demand; then, in the serial form, one thread walks over tiles and slots,
// and in the parallel form (one row a request, nothing folded, paged or split) it only finds where
// each request begins, after which all threads write requests side by side. The host has checked
// the input; unwritten elements of the buffers stay as they were.
#include "hip_backend/kernels/planner_parallel.hpp"
#include "hip_backend/kernels/planner_serial.hpp"

MLA_KERNEL(256) plan(const mla::hip::PlanArguments a) {
  using namespace mla::hip;
#if MLA_AMD
  __attribute__((shared)) static i64 sums[kPlanThreads];
#else
  __shared__ i64 sums[kPlanThreads];
#endif
  sums[thread_id()] = demand_of_thread(a);
  barrier();
  i64 demand = 0;
  for (int i = 0; i < kPlanThreads; ++i) demand += sums[i];
  const i64 capacity = (demand + a.split_budget - 1) / a.split_budget + overhead_blocks(a);
  if (thread_id() == 0) {
    a.work_meta_data[0] = reinterpret_cast<u64>(a.work_indptr);
    a.work_meta_data[1] = reinterpret_cast<u64>(a.work_info);
  }
  if (a.parallel != 0) {
    ParallelFill(a, capacity).run();
  } else if (thread_id() == 0) {
    SerialFill(a, capacity).run();
  }
}
