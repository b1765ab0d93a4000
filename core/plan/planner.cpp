#include "core/plan/planner.hpp"

#include "core/plan/v12_common.hpp"

namespace mla::plan {

V12Kernel choose_v12_kernel(const PlanInput& input, const PlanShape& shape) {
  return check_parallel(input, shape) ? V12Kernel::serial : V12Kernel::parallel;
}

Result<Plan> make_plan(const PlanInput& input, const BufferSizes& sizes) {
  const bool v12 = input.version == PlannerVersion::v1_2;
  const Result<PlanShape> shape =
      v12 ? resolve_plan_shape(input.key) : resolve_plan_shape_v11(input.key);
  if (!shape) return shape.error();
  if (input.version == PlannerVersion::v1_0) return plan_v10(input, *shape, sizes);
  if (input.version == PlannerVersion::v1_1) return plan_v11(input, *shape, sizes);
  const bool automatic = input.kernel == V12Kernel::automatic;
  const V12Kernel kernel = automatic ? choose_v12_kernel(input, *shape) : input.kernel;
  return kernel == V12Kernel::parallel ? plan_v12_parallel(input, *shape, sizes)
                                       : plan_v12_serial(input, *shape, sizes);
}

}  // namespace mla::plan
