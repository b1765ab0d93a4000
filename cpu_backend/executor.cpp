#include "cpu_backend/executor.hpp"

#include <omp.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/reduce.hpp"
#include "cpu_backend/schedule.hpp"
#include "cpu_backend/split_route.hpp"
#include "cpu_backend/stage1.hpp"
#include "cpu_backend/work_list.hpp"

namespace mla::cpu {
namespace {

Error contradiction(const std::string& what, std::size_t have, std::int64_t need) {
  return {ErrorCode::fault,
          what + " has " + std::to_string(have) + " bytes, not " + std::to_string(need), ""};
}

Status check_tensors(const DecodeLaunch& launch) {
  const ResolvedShape& shape = launch.metadata.shape;
  const DecodeTensors& t = launch.tensors;
  if (t.cache.dtype != shape.dtype.kv)
    return Error{ErrorCode::fault,
                 "the cache holds " + std::string(name(t.cache.dtype)) + ", the shape says " +
                     std::string(name(shape.dtype.kv)),
                 ""};
  const std::int64_t q_bytes = launch.metadata.rows().count() * shape.heads.model.count() *
                               kKeyDim * element_bytes(shape.dtype.q);
  if (static_cast<std::int64_t>(t.q.size()) != q_bytes)
    return contradiction("q", t.q.size(), q_bytes);
  const std::int64_t cache_bytes = t.cache.slots * t.cache.row_bytes();
  if (static_cast<std::int64_t>(t.cache.bytes.size()) != cache_bytes)
    return contradiction("the cache", t.cache.bytes.size(), cache_bytes);
  if (shape.route != Route::split && !launch.metadata.plan)
    return Error{ErrorCode::fault, "route " + std::string(name(shape.route)) + " has no plan", ""};
  return std::nullopt;
}

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

// Output and LSE of the model's heads, from the kernel's rows.
void unpack(const RowMap& rows, const KernelBuffers& buffers, DecodeResult& result) {
  const std::int64_t heads = rows.padding().model.count();
  result.out.reserve(static_cast<std::size_t>(rows.query_rows() * heads * kValueDim));
  for (std::int64_t row = 0; row < rows.query_rows(); ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const auto [kernel_row, kernel_head] = rows.place(row, head);
      const std::int64_t from = kernel_row * buffers.heads + kernel_head;
      const std::uint16_t* values = buffers.out.data() + from * kValueDim;
      result.out.insert(result.out.end(), values, values + kValueDim);
      result.lse.push_back(buffers.lse.data()[from]);
    }
  }
}

// No kernel is relied on for rows without keys: the launcher writes them.
void write_keyless(const DecodeMetadata& md, DecodeResult& result) {
  const std::int64_t heads = md.shape.heads.model.count();
  for (const auto& [begin, end] : md.keyless_rows) {
    if (begin < 0 || end < begin || end > md.rows().count()) {
      result.faults.push_back({"keyless rows [" + std::to_string(begin) + ", " +
                                   std::to_string(end) + ") are not in [0, " +
                                   std::to_string(md.rows().count()) + ")",
                               -1, -1});
      continue;
    }
    std::fill(result.out.begin() + begin * heads * kValueDim,
              result.out.begin() + end * heads * kValueDim, std::uint16_t{0});
    std::fill(result.lse.begin() + begin * heads, result.lse.begin() + end * heads,
              -std::numeric_limits<float>::infinity());
  }
}

template <class T>
void check_canaries(const GuardedBuffer<T>& buffer, std::vector<Fault>& faults) {
  if (std::string damage = buffer.damaged(); !damage.empty())
    faults.push_back({std::move(damage), -1, -1});
}

}  // namespace

Support check_shape(const ResolvedShape& shape) {
  if (shape.dtype.q == Dtype::fp8 && shape.dtype.kv == Dtype::bf16)
    return {false, "no kernel takes an fp8 query with a bf16 cache"};
  if (shape.page_size < 1)
    return {false, "page size " + std::to_string(shape.page_size) + " is not positive"};
  if (shape.fold_ratio() > 1 && shape.uniform_qo_len < 1)
    return {false, "heads folded " + std::to_string(shape.fold_ratio()) +
                       " times need requests of equal query length"};
  if (shape.route == Route::split && (shape.kv_splits < 1 || shape.split_granularity < 1))
    return {false, std::to_string(shape.kv_splits) + " splits of " +
                       std::to_string(shape.split_granularity) + " tokens are none"};
  return {true, {}};
}

Result<DecodeResult> execute(const DataPath& path, const DecodeLaunch& launch,
                             const ExecutionOptions& options) {
  const DecodeMetadata& md = launch.metadata;
  if (Support support = check_shape(md.shape); !support.ok)
    return Error{ErrorCode::unsupported, support.reason, ""};
  if (Status bad = check_tensors(launch)) return *bad;
  const Result<RowMap> rows = RowMap::make(md);
  if (!rows) return rows.error();

  const bool split = md.shape.route == Route::split;
  TaskList stage1 = split ? split_tasks(launch, *rows) : read_works(md.plan->view(), launch, *rows);
  MergeList merges = split ? split_merges(md, stage1) : read_reduce(md.plan->view(), stage1);
  KernelBuffers buffers(backed_partial_rows(stage1, merges), rows->kernel_rows(),
                        rows->row_heads());
  const int threads = options.threads > 0 ? options.threads : omp_get_max_threads();

  run_stage1({launch, *rows, path, threads}, stage1.tasks,
             task_order(stage1, options.schedule_seed), buffers);
  DecodeResult result;
  result.stage1_out = buffers.out.copy();
  result.stage1_lse = buffers.lse.copy();
  run_merge(merges, reduce_rounding(md.shape.arch), threads, buffers);

  result.kernel_heads = buffers.heads;
  result.faults = std::move(stage1.faults);
  result.faults.insert(result.faults.end(), merges.faults.begin(), merges.faults.end());
  check_canaries(buffers.partial_out, result.faults);
  check_canaries(buffers.partial_lse, result.faults);
  check_canaries(buffers.out, result.faults);
  check_canaries(buffers.lse, result.faults);
  unpack(*rows, buffers, result);
  write_keyless(md, result);
  result.partial_out = std::move(buffers.partial_out).take();
  result.partial_lse = std::move(buffers.partial_lse).take();
  if (options.record_footprint) result.footprint = footprints(stage1, md.shape.page_size);
  return result;
}

}  // namespace mla::cpu
