#include "properties/claims/support/shape_rules.hpp"

#include <algorithm>
#include <string_view>

#include "core/say.hpp"

namespace mla::prop {
namespace {

// Rows of the longest request, and whether each has as many.
struct Lengths {
  std::int64_t longest = 0;
  bool equal = true;
};

Lengths lengths(const Batch& batch) {
  Lengths out;
  for (const RequestSpec& r : batch.requests) out.longest = std::max(out.longest, r.qo_len);
  for (const RequestSpec& r : batch.requests) out.equal = out.equal && r.qo_len == out.longest;
  return out;
}

bool listed_as_folded(const KernelEntry& kernel) {
  return kernel.label.find("folded") != std::string_view::npos;
}

// The fp8 kernels of gfx950 find the rows of a folded request by its folded index from 3 rows on.
bool reads_other_rows(const KernelEntry& kernel, std::int64_t rows) {
  return listed_as_folded(kernel) && kernel.arch == Arch::gfx950 && kernel.dtype.both(Dtype::fp8) &&
         rows > 2;
}

plan::PlannerVersion version_of(PlannerChoice choice) {
  if (choice == PlannerChoice::v10) return plan::PlannerVersion::v1_0;
  if (choice == PlannerChoice::v11) return plan::PlannerVersion::v1_1;
  return plan::PlannerVersion::v1_2;
}

plan::V12Kernel kernel_of(PlannerChoice choice) {
  if (choice == PlannerChoice::v12_serial) return plan::V12Kernel::serial;
  if (choice == PlannerChoice::v12_parallel) return plan::V12Kernel::parallel;
  return plan::V12Kernel::automatic;
}

// Whether a workgroup takes so many rows of a request as one tile.
bool one_tile(const ResolvedShape& shape, std::int64_t rows) {
  PlanKey key = shape.plan_key();
  key.max_qo_len = rows;
  const auto plan = resolve_plan_shape(key);
  return plan && plan->tiles(rows) == 1;
}

}  // namespace

std::optional<std::string> other_planner(const Case& c, const ResolvedShape& shape) {
  if (shape.route == Route::split) return std::nullopt;
  if (shape.planner == version_of(c.planner) && shape.planner_kernel == kernel_of(c.planner))
    return std::nullopt;
  return say("the case names planner ", name(c.planner), ", and the shape has another one");
}

std::optional<std::string> wrong_folding(const ResolvedShape& shape) {
  if (shape.route == Route::split) return std::nullopt;
  if (listed_as_folded(shape.kernel) != (shape.plan.fold_ratio > 1))
    return say("heads fold ", shape.plan.fold_ratio, " to 1 for the kernel '", shape.kernel.label,
               "'");
  if (reads_other_rows(shape.kernel, shape.max_qo_len))
    return say("requests of ", shape.max_qo_len, " rows run on ", shape.kernel.label, " on ",
               name(shape.arch), ", which looks up the rows of another request");
  return std::nullopt;
}

bool takes_whole_requests(const Case& c, const ResolvedShape& shape, const Batch& batch) {
  const auto [longest, equal] = lengths(batch);
  if (equal && longest == 1) return true;
  if (c.decode().kernel_rows > longest || c.decode().need_lse || !c.causal) return false;
  const auto kernel = find_persistent_kernel(c.arch, c.dtype, shape.heads.kernel.count(), longest);
  if (!kernel) return false;
  if (!kernel->masks && longest > 1 && c.page_size > 1) return false;
  return !listed_as_folded(*kernel) || (equal && !reads_other_rows(*kernel, longest));
}

std::optional<std::string> wrong_leading_rows(const Case& c, const ResolvedShape& shape,
                                              const Batch& batch) {
  const auto [longest, equal] = lengths(batch);
  const std::int64_t kernel_rows = c.decode().kernel_rows;
  const bool raised = equal && longest > 1 && longest < kernel_rows &&
                      (shape.route == Route::split ||
                       (shape.route == Route::persistent && one_tile(shape, kernel_rows)));
  const std::int64_t want = raised ? kernel_rows - longest : 0;
  if (shape.leading_rows == want) return std::nullopt;
  return say("requests of up to ", longest, " rows with qpad ", kernel_rows, " on route ",
             name(shape.route), " get ", shape.leading_rows, " leading rows, by the rule ", want);
}

}  // namespace mla::prop
