#include "cpu_backend/decode/executor.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "core/engine/launch.hpp"
#include "core/numeric/bf16.hpp"
#include "cpu_backend/decode/buffers.hpp"
#include "cpu_backend/decode/reduce.hpp"
#include "cpu_backend/decode/schedule.hpp"
#include "cpu_backend/decode/split_route.hpp"
#include "cpu_backend/decode/stage1.hpp"
#include "cpu_backend/decode/work_list.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

// Partial rows that a task or a merge names.
std::int64_t backed_partial_rows(const TaskList& stage1, const MergeList& merges) {
  std::int64_t rows = 0;
  for (const Task& task : stage1.tasks)
    if (!task.direct() && task.rows() > 0)
      rows = std::max(rows, task.partial_row_of(task.q_end - 1) + 1);
  for (const std::int64_t partial : merges.partials) rows = std::max(rows, partial + 1);
  return rows;
}

std::vector<Footprint> footprints(const TaskList& stage1, std::int64_t page_size) {
  std::vector<Footprint> out;
  for (const Task& task : stage1.tasks) {
    Footprint f{.work = task.work,
                .slot = task.slot,
                .q_rows = {task.q_begin, task.q_end},
                .kv_entries = {},
                .partial_rows = {},
                .output_rows = {}};
    if (task.keys.count() > 0)
      f.kv_entries = {task.first_entry + task.keys.begin / page_size,
                      task.first_entry + (task.keys.end - 1) / page_size + 1};
    if (task.direct()) {
      f.output_rows = f.q_rows;
    } else if (task.rows() > 0) {
      f.partial_rows = {task.partial_row, task.partial_row_of(task.q_end - 1) + 1};
    }
    out.push_back(f);
  }
  std::sort(out.begin(), out.end(), [](const Footprint& a, const Footprint& b) {
    return std::tie(a.work, a.slot) < std::tie(b.work, b.slot);
  });
  return out;
}

std::vector<std::int64_t> task_order(const TaskList& stage1, std::uint64_t seed) {
  std::vector<std::int64_t> slots;
  for (const Task& task : stage1.tasks)  // without slots every task is its own
    slots.push_back(task.slot >= 0 ? task.slot : task.work);
  return schedule(slots, seed);
}

template <class T>
void check_canaries(const GuardedBuffer<T>& buffer, std::vector<Fault>& faults) {
  if (std::string damage = buffer.damaged(); !damage.empty())
    faults.push_back({std::move(damage), -1, -1});
}

}  // namespace

TaskList stage1_tasks(const DecodeLaunch& launch, const RowMap& rows) {
  const DecodeMetadata& md = launch.metadata;
  TaskInput input{.metadata = md,
                  .cache = CacheView::of(launch.tensors.cache),
                  .kernel_rows = rows.kernel_rows(),
                  .fold = rows.fold()};
  if (md.shape.route == Route::split) {
    const std::int64_t splits = md.shape.kv_splits;
    input.partial_rows = splits == 1 ? 0 : rows.query_rows() * splits;
    return split_tasks(input);
  }
  const plan::PlanView plan = md.plan->view();
  input.partial_rows =
      static_cast<std::int64_t>(plan.reduce_partial_map.size()) * md.shape.max_qo_len;
  return read_works(plan, input);
}

Result<DecodeResult> execute(const DataPath& path, const DecodeLaunch& launch,
                             const ExecutionOptions& options) {
  const DecodeMetadata& md = launch.metadata;
  if (Support support = common_support(md.shape); !support.ok)
    return Error{ErrorCode::unsupported, support.reason};
  if (MaybeError bad = check_launch(launch)) return *bad;
  const Result<RowMap> rows = RowMap::make(md);
  if (!rows) return rows.error();

  TaskList stage1 = stage1_tasks(launch, *rows);
  MergeList merges = md.shape.route == Route::split ? split_merges(md, stage1)
                                                    : read_reduce(md.plan->view(), stage1);
  KernelBuffers buffers(backed_partial_rows(stage1, merges), rows->kernel_rows(), rows->row_heads(),
                        md.shape.widths.value());
  const int threads = team(options.threads);

  const DecodeTensors& tensors = launch.tensors;
  run_stage1({.metadata = md,
              .cache = CacheView::of(tensors.cache),
              .q = tensors.q.data(),
              .softmax_scale = tensors.softmax_scale,
              .q_scale = tensors.q_scale,
              .kv_scale = tensors.kv_scale,
              .rows = &*rows,
              .path = path,
              .threads = threads},
             stage1.tasks, task_order(stage1, options.schedule_seed),
             {.heads = buffers.heads,
              .partial_out = buffers.partial_out.data(),
              .partial_lse = buffers.partial_lse.data(),
              .out = buffers.out.data(),
              .lse = buffers.lse.data()});
  DecodeResult result;
  // A step without a key has nothing to launch.
  const bool any_key = std::ranges::any_of(
      stage1.tasks, [](const Task& task) { return task.rows() > 0 && task.keys.count() > 0; });
  result.launches.add({"cpu", path.label, StepKind::decode, "stage 1", any_key ? 1 : 0});
  if (options.record_stages) {
    result.stage1_out = buffers.out.copy();
    result.stage1_lse = buffers.lse.copy();
  }
  run_merge(merges, reduce_rounding(md.shape.arch), threads, buffers);
  if (!merges.rows.empty()) result.launches.add({"cpu", kHost, StepKind::decode, "reduce"});

  result.kernel_heads = buffers.heads;
  result.faults = std::move(stage1.faults);
  result.faults.insert(result.faults.end(), merges.faults.begin(), merges.faults.end());
  check_canaries(buffers.partial_out, result.faults);
  check_canaries(buffers.partial_lse, result.faults);
  check_canaries(buffers.out, result.faults);
  check_canaries(buffers.lse, result.faults);
  unpack_rows(*rows, buffers.value, buffers.out.values(), buffers.lse.values(), result);
  write_keyless(md, result);
  if (options.record_stages) {
    result.partial_out = std::move(buffers.partial_out).take();
    result.partial_lse = std::move(buffers.partial_lse).take();
    result.footprint = footprints(stage1, md.shape.page_size);
  }
  return result;
}

}  // namespace mla::cpu
