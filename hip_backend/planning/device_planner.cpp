#include "hip_backend/planning/device_planner.hpp"

#include <bit>
#include <string>
#include <utility>

#include "core/plan/v12_common.hpp"
#include "core/say.hpp"
#include "hip_backend/device/kernel_launch.hpp"
#include "hip_backend/kernels/arguments.hpp"

namespace mla::hip {
namespace {

constexpr auto kUnwritten = static_cast<std::uint32_t>(plan::kPoison);

PlanArguments decided(const plan::PlanInput& input, const PlanShape& shape) {
  const bool automatic = input.kernel == plan::V12Kernel::automatic;
  const plan::V12Kernel kernel = automatic ? plan::choose_v12_kernel(input, shape) : input.kernel;
  PlanArguments a{};
  a.batch = static_cast<int>(input.batch());
  a.fold = static_cast<int>(shape.fold_ratio);
  a.plan_heads = static_cast<int>(shape.plan_heads.count());
  a.rows_per_workgroup = static_cast<int>(shape.rows_per_workgroup);
  a.query_split = shape.query_split ? 1 : 0;
  a.slots = static_cast<int>(shape.slots.count());
  a.split_budget = static_cast<int>(plan::split_budget(input, shape));
  a.page_size = static_cast<int>(input.page_size);
  a.granularity = static_cast<int>(input.kv_granularity);
  a.max_qo_len = static_cast<int>(input.key.max_qo_len);
  a.uniform_qo_len = static_cast<int>(input.uniform_qo_len);
  a.causal = input.causal ? 1 : 0;
  a.cp_round_robin = input.cp_round_robin ? 1 : 0;
  a.parallel = kernel == plan::V12Kernel::parallel ? 1 : 0;
  return a;
}

}  // namespace

Result<plan::Plan> plan_on_device(Device& device, const plan::PlanInput& input,
                                  const PlanShape& shape, const plan::BufferSizes& sizes) {
  if (input.topk >= 0)
    return Error{ErrorCode::unsupported,
                 say("topk is ", input.topk, ": the device planner has no sparse form")};
  PlanArguments a = decided(input, shape);
  a.reduce_indptr_size = static_cast<int>(sizes.reduce_indptr);
  KernelLaunch launch(device);
  launch.input("qo_indptr", input.qo_indptr, a.qo_indptr);
  launch.input("kv_indptr", input.kv_indptr, a.kv_indptr);
  launch.input("last_page_len", input.last_page_len, a.last_page_len);
  launch.output("work_meta_data", sizes.work_meta_data, kUnwritten, a.work_meta_data);
  const std::size_t first =
      launch.output("work_indptr", sizes.work_indptr, kUnwritten, a.work_indptr);
  launch.output("work_info_set", sizes.work_items * plan::kWorkItemWords, kUnwritten, a.work_info);
  launch.output("reduce_indptr", sizes.reduce_indptr, kUnwritten, a.reduce_indptr);
  launch.output("reduce_final_map", sizes.reduce_final_rows * 2, kUnwritten, a.reduce_final_map);
  launch.output("reduce_partial_map", sizes.reduce_partial_map, kUnwritten, a.reduce_partial_map);
  launch.output("scratch", 5 * (input.batch() + 1), kUnwritten, a.scratch);
  if (MaybeError bad = launch.run("planner", "plan", {.threads = 256}, a)) return *bad;

  plan::PlanLists<std::vector<std::int32_t>> read;
  std::size_t buffer = first;
  for (std::vector<std::int32_t>* list : read.all()) {
    auto values = launch.buffer(buffer++).read_all<std::int32_t>();
    if (!values) return values.error();
    *list = std::move(*values);
  }
  return plan::Plan::copy_of(plan::PlanView(read));
}

Result<std::vector<std::int32_t>> expand_on_device(Device& device, const ExpandInput& input,
                                                   const ExpandGrid& grid,
                                                   std::span<const std::int32_t> before) {
  const BlockTableView& table = input.table;
  const std::int64_t last =
      table.rows == 0 || table.columns == 0
          ? 0
          : (table.rows - 1) * table.row_stride + (table.columns - 1) * table.column_stride + 1;
  const std::span<const std::int32_t> elements(table.data, static_cast<std::size_t>(last));
  const std::vector<long long> rows(input.table_rows.begin(), input.table_rows.end());
  ExpandArguments a{};
  a.row_stride = table.row_stride;
  a.column_stride = table.column_stride;
  a.pages_per_block = static_cast<int>(input.pages_per_block);
  a.programs = static_cast<int>(grid.programs);
  a.chunk = static_cast<int>(grid.chunk);
  KernelLaunch launch(device);
  launch.input("block table", elements, a.table);
  launch.input("kv_indptr", input.kv_indptr, a.kv_indptr);
  launch.input("table rows", std::span<const long long>(rows), a.table_row);
  const std::size_t out = launch.output("kv_indices", std::ssize(before), kUnwritten, a.kv_indices);
  if (!before.empty())
    if (MaybeError bad =
            device.copy_in(std::bit_cast<Address>(a.kv_indices), std::as_bytes(before)))
      return *bad;
  const LaunchSize size = {.grid_x = static_cast<std::uint32_t>(rows.size()),
                           .grid_y = static_cast<std::uint32_t>(grid.programs),
                           .threads = 256};
  if (rows.empty()) return std::vector<std::int32_t>(before.begin(), before.end());
  if (MaybeError bad = launch.run("expand", "expand", size, a)) return *bad;
  return launch.buffer(out).read_all<std::int32_t>();
}

}  // namespace mla::hip
