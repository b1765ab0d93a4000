#include "cpu_backend/calls/stage1_call.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "core/shape/split_count.hpp"
#include "cpu_backend/decode/executor.hpp"
#include "cpu_backend/decode/split_route.hpp"
#include "cpu_backend/decode/stage1.hpp"
#include "cpu_backend/decode/work_list.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

Error unsupported(std::string sentence) {
  return {ErrorCode::unsupported, std::move(sentence)};
}

// Rows of folded requests are counted with the length of all.
MaybeError check_fold(const Stage1Call& call) {
  for (std::size_t r = 0; call.fold > 1 && r + 1 < call.qo_indptr.size(); ++r)
    if (std::int64_t{call.qo_indptr[r + 1]} - call.qo_indptr[r] != call.max_qo_len)
      return unsupported(say(
          "heads folded ", call.fold, " times need requests of max_seqlen_q = ", call.max_qo_len,
          " rows; request ", r, " has ", call.qo_indptr[r + 1] - call.qo_indptr[r]));
  return std::nullopt;
}

// Without a plan a workgroup takes max_seqlen_q rows of a request; the rows after them are not
// computed.
MaybeError check_rows(const Stage1Call& call) {
  for (std::size_t r = 0; !call.plan && r + 1 < call.qo_indptr.size(); ++r)
    if (const std::int64_t rows = std::int64_t{call.qo_indptr[r + 1]} - call.qo_indptr[r];
        rows > call.max_qo_len)
      return unsupported(say("request ", r, " has ", rows, " rows and max_seqlen_q is ",
                             call.max_qo_len, ": without a plan nothing writes the others"));
  return std::nullopt;
}

std::string shape_of(const Stage1Call& call) {
  return say(name(call.arch), ", ", name(call.dtype.q), "/", name(call.dtype.kv), ", ",
             call.heads * call.fold, " heads, ", call.max_qo_len, " rows a request");
}

Result<KernelEntry> kernel_of(const Stage1Call& call) {
  const std::int64_t heads = call.heads * call.fold;
  const auto kernel = call.plan
                          ? find_persistent_kernel(call.arch, call.dtype, heads, call.max_qo_len)
                          : find_split_kernel(call.arch, call.dtype, heads, call.max_qo_len);
  if (!kernel)
    return unsupported(
        say("no ", call.plan ? "persistent" : "non-persistent", " kernel takes ", shape_of(call)));
  if (call.plan && call.lse != nullptr && !kernel->lse)
    return unsupported("no kernel with " + shape_of(call) + " returns a final LSE");
  if (!call.causal && call.max_qo_len > 1 && !kernel->non_causal)
    return unsupported("no kernel with " + shape_of(call) + " runs without a causal mask");
  return *kernel;
}

DecodeMetadata metadata_of(const Stage1Call& call) {
  DecodeMetadata md;
  md.shape.arch = call.arch;
  md.shape.dtype = call.dtype;
  md.shape.widths = call.widths;
  md.shape.fp8 = fp8_variant(call.arch);
  md.shape.causal = call.causal;
  md.shape.page_size = call.page_size;
  md.shape.route = call.plan ? Route::persistent : Route::split;
  md.shape.kernel.masks = call.kernel_masks;
  md.shape.max_qo_len = call.max_qo_len;
  md.shape.uniform_qo_len = call.max_qo_len;  // read only when folded
  md.shape.kv_splits = call.splits;
  md.shape.split_granularity =
      plan::split_granularity(Heads(call.heads * call.fold), call.max_qo_len, call.dtype);
  md.qo_indptr = call.qo_indptr;
  md.kv_indptr = call.kv_indptr;
  md.kv_indices = call.kv_indices;
  md.last_page_len = call.last_page_len;
  return md;
}

// Works whose pages are their request's own if heads are folded so many times. Group f - 1 of a
// request with keys has its pages with fold f and no smaller one; a larger one is as good where the
// batch has no other request with works.
std::int64_t works_in_place(const Stage1Call& call, std::int64_t fold) {
  const auto& works = call.plan->work_info;
  const auto& ends = call.plan->work_indptr;
  const std::int64_t last = ends.empty() ? 0 : ends.back();
  const std::int64_t used =
      std::clamp<std::int64_t>(last, 0, std::ssize(works) / plan::kWorkItemWords);
  std::int64_t count = 0;
  for (std::int64_t w = 0; w < used; ++w) {
    const plan::WorkItem work = plan::work_of(works.data() + w * plan::kWorkItemWords);
    const std::int64_t request = work.batch / fold;
    if (work.batch < 0 || request + 1 >= std::ssize(call.kv_indptr)) continue;
    const auto r = static_cast<std::size_t>(request);
    if (work.kv_begin >= call.kv_indptr[r] && work.kv_end <= call.kv_indptr[r + 1]) ++count;
  }
  return count;
}

// Without a bf16 output a single split leaves its result in the partial buffers.
void write_partials(TaskList& list, std::int64_t partial_rows) {
  for (Task& task : list.tasks) {
    task.partial_row = task.q_begin;
    task.partial_stride = 1;
  }
  list.partial_rows = partial_rows;
}

}  // namespace

std::int64_t fold_of(const Stage1Call& call) {
  const std::int64_t rows = call.qo_indptr.back();
  if (!call.plan || rows < 1 || call.heads < 1) return 1;
  const std::int64_t most = std::min(call.q_rows / rows, kMaxHeads / call.heads);
  std::int64_t best = 1;
  std::int64_t best_works = 0;
  for (std::int64_t fold = 1; fold <= most; ++fold) {
    const std::int64_t works = works_in_place(call, fold);
    if (works <= best_works) continue;
    best = fold;
    best_works = works;
  }
  return best;
}

Result<TaskList> stage1_tasks(const Stage1Call& call) {
  if (const MaybeError bad = check_fold(call)) return *bad;
  if (const MaybeError bad = check_rows(call)) return *bad;
  const DecodeMetadata md = metadata_of(call);
  const TaskInput input{.metadata = md,
                        .cache = call.cache,
                        .kernel_rows = call.q_rows,
                        .fold = call.fold,
                        .partial_rows = call.partial_rows,
                        .share = call.share,
                        .splits_indptr = call.splits_indptr};
  if (call.plan) return read_works(*call.plan, input);
  TaskList list = split_tasks(input);
  if (call.splits == 1 && call.out == nullptr) write_partials(list, call.partial_rows);
  return list;
}

CallReport run_stage1_tasks(const Stage1Call& call, TaskList list, int threads) {
  const DecodeMetadata md = metadata_of(call);
  const DataPath& path = best_path();
  std::vector<std::int64_t> order(list.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  run_stage1({.metadata = md,
              .cache = call.cache,
              .q = call.q,
              .softmax_scale = call.softmax_scale,
              .q_scale = call.q_scale,
              .kv_scale = call.kv_scale,
              .path = path,
              .threads = team(threads)},
             list.tasks, order,
             {.heads = call.heads,
              .partial_out = call.partial_out,
              .partial_lse = call.partial_lse,
              .out = call.out,
              .lse = call.lse});
  CallReport report;
  report.faults = std::move(list.faults);
  report.launches.add({"cpu", path.label, StepKind::decode, "stage 1"});
  return report;
}

Result<TaskList> prepare_stage1_call(Stage1Call& call) {
  const std::int64_t rows = call.qo_indptr.back();
  if (rows < 1 || rows > call.q_rows)
    return Error{ErrorCode::usage,
                 say("q has ", call.q_rows, " rows, the requests of qo_indptr have ", rows)};
  call.fold = fold_of(call);
  const auto kernel = kernel_of(call);
  if (!kernel) return kernel.error();
  call.kernel_masks = kernel->masks;
  return stage1_tasks(call);
}

}  // namespace mla::cpu
