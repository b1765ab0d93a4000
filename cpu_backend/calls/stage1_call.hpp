// One call of a decode stage 1 on the caller's own memory, as AITER's Python makes it.
//
// Not a step of a case: Q and the output have the kernel's rows and heads (folded and padded by
// the caller), nothing is undone afterwards, rows without keys are what stage 1 leaves. Works
// are read and checked as in a step; elements that no work writes keep what they hold. Contracts:
// aiter.md 4 (which kernel, splits), 6 (stage 1). Fails: a shape that no kernel takes; what a plan
// or a list does wrong is a fault of the report.
#pragma once

#include <optional>
#include <span>

#include "core/plan/plan.hpp"
#include "cpu_backend/decode/task.hpp"

namespace mla::cpu {

struct Stage1Call {
  Arch arch = Arch::gfx942;
  DtypePair dtype;
  RowWidths widths;
  const std::byte* q = nullptr;  // [q_rows, heads, key], contiguous
  std::int64_t q_rows = 0;
  std::int64_t heads = 0;
  CacheView cache;
  std::int64_t page_size = 1;
  std::span<const std::int32_t> qo_indptr;      // [batch + 1] rows, not folded
  std::span<const std::int32_t> kv_indptr;      // [batch + 1] pages
  std::span<const std::int32_t> kv_indices;     // pages
  std::span<const std::int32_t> last_page_len;  // [batch] tokens
  std::int64_t max_qo_len = 1;                  // rows of a request, not folded
  bool causal = true;
  float softmax_scale = 1;
  float q_scale = 1;
  float kv_scale = 1;
  std::optional<plan::PlanView> plan{};  // none: every request in at most `splits` splits
  std::int64_t splits = 1;
  std::span<const std::int32_t> splits_indptr{};  // [batch + 1]; empty: `splits` each
  std::int64_t fold = 1;     // Q has so many times the rows of the requests (folded heads)
  bool kernel_masks = true;  // false: rows see all keys of their works
  RankShare share{};

  // Partials are [partial_rows, heads, value] and [partial_rows, heads]; without a plan partial row
  // query_row * splits + split. A single split writes `out` if there is one, else partial rows.
  std::int64_t partial_rows = 0;
  float* partial_out = nullptr;
  float* partial_lse = nullptr;
  std::uint16_t* out = nullptr;  // [q_rows, heads, value] bf16
  float* lse = nullptr;          // [q_rows, heads]; null: not wanted
};

struct CallReport {
  std::vector<Fault> faults;
  Launches launches;
};

// How often the heads are folded into rows: the works of a plan count folded requests, and without
// one heads are never folded. Rows of Q after those of the requests are the padding of a captured
// launch.
std::int64_t fold_of(const Stage1Call& call);

// The works of the plan, or the splits, each checked against everything that it reads and writes.
Result<TaskList> stage1_tasks(const Stage1Call& call);
// Runs what was checked, on the machine's best data path.
CallReport run_stage1_tasks(const Stage1Call& call, TaskList list, int threads);

// Before both: the fold, and the kernel that takes the shape and how it
// masks, into `call`; then its works.
Result<TaskList> prepare_stage1_call(Stage1Call& call);

}  // namespace mla::cpu
