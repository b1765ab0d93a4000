#include <algorithm>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/prefill/attend.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

using prefill::kVDim;

constexpr std::int64_t kFlashRows = 128;  // query rows of a workgroup

struct FlashTask {
  std::int64_t head = 0;
  std::int64_t q_begin = 0;
  std::int64_t q_end = 0;
  std::int64_t k_begin = 0;
  std::int64_t keys = 0;
  std::int64_t hidden = 0;  // keys that row q_begin does not see, negative if it sees all
};

// The rows of every request in runs of kFlashRows, for every head.
std::vector<FlashTask> tasks_of(const FlashLaunch& launch, std::vector<Fault>& faults) {
  std::vector<FlashTask> tasks;
  for (std::size_t r = 0; r + 1 < launch.cu_seqlens_q.size(); ++r) {
    if (auto fault = flash_fault(launch, r)) {
      faults.push_back(std::move(*fault));
      continue;
    }
    const std::int64_t q_end = launch.cu_seqlens_q[r + 1];
    const std::int64_t k_begin = launch.cu_seqlens_k[r];
    const std::int64_t k_end = launch.cu_seqlens_k[r + 1];
    for (std::int64_t row = launch.cu_seqlens_q[r]; row < q_end; row += kFlashRows)
      for (std::int64_t head = 0; head < launch.q.heads; ++head)
        tasks.push_back({head, row, std::min(row + kFlashRows, q_end), k_begin, k_end - k_begin,
                         launch.causal ? q_end - row - 1 : 0});
  }
  return tasks;
}

void run_task(const DataPath& path, const FlashLaunch& launch, const FlashTask& task,
              AttendScratch& scratch) {
  AttendTile tile;
  tile.q = rows_of(launch.q, task.head, task.q_begin);
  tile.k = rows_of(launch.k, task.head, task.k_begin);
  tile.v = rows_of(launch.v, task.head, task.k_begin);
  tile.rows = task.q_end - task.q_begin;
  tile.keys = task.keys;
  tile.first_visible = task.keys - task.hidden;
  tile.visible_step = launch.causal ? 1 : 0;
  tile.score_scale = launch.score_scale;
  attend_tile(path, tile, scratch);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const float* from = scratch.out(i);
    std::uint16_t* to = launch.out.at(task.q_begin + i, task.head);
    for (std::int64_t d = 0; d < kVDim; ++d)
      to[d] = bf16_from_float(from[d], Bf16Rounding::nearest_even);
    *launch.lse.at(task.q_begin + i, task.head) = scratch.lse(i);
  }
}

}  // namespace

std::optional<Fault> flash_fault(const FlashLaunch& launch, std::size_t r) {
  const std::int64_t q_begin = launch.cu_seqlens_q[r];
  const std::int64_t q_end = launch.cu_seqlens_q[r + 1];
  const std::int64_t k_begin = launch.cu_seqlens_k[r];
  const std::int64_t k_end = launch.cu_seqlens_k[r + 1];
  if (q_begin >= 0 && q_end >= q_begin && q_end <= launch.q.rows && k_begin >= 0 &&
      k_end >= k_begin && k_end <= launch.k.rows && k_end <= launch.v.rows)
    return std::nullopt;
  return Fault{say("flash attention of request ", r, ": rows ", range(q_begin, q_end), " or keys ",
                   range(k_begin, k_end), " are not in ", range(0, launch.q.rows), " and ",
                   range(0, launch.k.rows)),
               -1, -1};
}

void run_flash(const DataPath& path, const KernelContext& context, const FlashLaunch& launch) {
  context.launches.add({"cpu", path.label, StepKind::prefill, "flash attention"});
  const std::vector<FlashTask> tasks = tasks_of(launch, context.faults);
  const auto count = static_cast<std::int64_t>(tasks.size());
#pragma omp parallel num_threads(team(context.threads))
  {
    AttendScratch scratch;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < count; ++i)
      run_task(path, launch, tasks[static_cast<std::size_t>(i)], scratch);
  }
}

}  // namespace mla::cpu
