#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/decode/reduce.hpp"
#include "cpu_backend/decode/schedule.hpp"
#include "cpu_backend/merge.hpp"
#include "cpu_backend/prefill/attend.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "cpu_backend/prefill/ps_works.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

using prefill::kVDim;

ElementKind kind_of(const Operand& x, Arch arch) {
  if (x.dtype == Dtype::bf16) return ElementKind::bf16;
  return fp8_variant(arch) == Fp8Variant::e4m3fn ? ElementKind::e4m3fn : ElementKind::e4m3fnuz;
}

void run_task(const DataPath& path, const KernelContext& context, const PsLaunch& launch,
              float v_scale, const PsTask& task, AttendScratch& scratch, const PsOutput& output) {
  AttendTile tile;
  tile.q = rows_of(launch.q, task.head, task.q_begin);
  tile.k = rows_of(launch.k, task.head, 0);
  tile.v = rows_of(launch.v, task.head, 0);
  tile.key_rows = launch.plan.kv_indices.data() + task.kv_begin;
  tile.rows = task.q_end - task.q_begin;
  tile.keys = task.keys;
  tile.first_visible = task.first_visible;
  tile.visible_step = task.visible_step;
  tile.kind = kind_of(launch.q, context.arch);
  tile.score_scale = launch.score_scale;
  attend_tile(path, tile, scratch);
  const Bf16Rounding rounding = stage1_rounding(context.arch);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const float* from = scratch.out(i);
    if (task.partial_row >= 0) {
      const std::int64_t to = (task.partial_row + i) * output.heads + task.head;
      for (std::int64_t d = 0; d < kVDim; ++d)
        output.partial_out[to * kVDim + d] = from[d] * v_scale;
      output.partial_lse[to] = scratch.lse(i);
      continue;
    }
    std::uint16_t* to = output.out.at(task.q_begin + i, task.head);
    for (std::int64_t d = 0; d < kVDim; ++d) to[d] = bf16_from_float(from[d] * v_scale, rounding);
    *output.lse.at(task.q_begin + i, task.head) = scratch.lse(i);
  }
}

}  // namespace

void run_prefill_ps(const DataPath& path, const KernelContext& context, const PsLaunch& launch,
                    PsOutput& output) {
  run_prefill_ps_scaled(path, context, launch, 1.0F, output);
}

void run_prefill_ps_scaled(const DataPath& path, const KernelContext& context,
                           const PsLaunch& launch, float v_scale, PsOutput& output) {
  context.launches.add({"cpu", path.label, StepKind::prefill, "prefill_ps"});
  const std::vector<PsTask> tasks = read_ps_works(launch, output, context.faults);
  std::vector<std::int64_t> slots;
  for (const PsTask& task : tasks) slots.push_back(task.slot);
  const std::vector<std::int64_t> order = schedule(slots, context.schedule_seed);
  const auto count = static_cast<std::int64_t>(tasks.size());
#pragma omp parallel num_threads(team(context.threads))
  {
    AttendScratch scratch;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < count; ++i) {
      const auto next = static_cast<std::size_t>(order[static_cast<std::size_t>(i)]);
      if (tasks[next].q_end > tasks[next].q_begin)
        run_task(path, context, launch, v_scale, tasks[next], scratch, output);
    }
  }
}

void run_prefill_reduce(const KernelContext& context, const PlanSpans& plan, PsOutput& output) {
  context.launches.add({"cpu", kHost, StepKind::prefill, "reduce"});
  TaskList stage1;
  stage1.partial_rows = output.partial_rows;
  stage1.owner = output.owner;
  const MergeList list = read_reduce(plan::PlanView(plan), stage1);
  context.faults.insert(context.faults.end(), list.faults.begin(), list.faults.end());
  const Bf16Rounding rounding = reduce_rounding(context.arch);
  const auto rows = static_cast<std::int64_t>(list.rows.size());
#pragma omp parallel num_threads(team(context.threads))
  {
    std::vector<float> merged(static_cast<std::size_t>(kVDim));
    std::vector<const float*> parts;
    std::vector<float> lse;
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < rows; ++i) {
      const MergeRow& row = list.rows[static_cast<std::size_t>(i)];
      for (std::int64_t head = 0; head < output.heads; ++head) {
        parts.clear();
        lse.clear();
        for (std::int64_t k = row.first; k < row.first + row.count; ++k) {
          const std::int64_t at = list.partials[static_cast<std::size_t>(k)] * output.heads + head;
          parts.push_back(output.partial_out + at * kVDim);
          lse.push_back(output.partial_lse[at]);
        }
        *output.lse.at(row.row, head) = merge_partials(row.form, parts, lse, merged);
        std::uint16_t* to = output.out.at(row.row, head);
        for (std::size_t d = 0; d < merged.size(); ++d)
          to[d] = bf16_from_float(merged[d], rounding);
      }
    }
  }
}

}  // namespace mla::cpu
