#include "properties/python/abi/aiter/decode_tasks.hpp"

#include <algorithm>
#include <bit>

#include "core/paging/pages.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/split_count.hpp"
#include "core/units.hpp"

namespace mla::abi::aiter {
namespace {

using plan::kWorkItemWords;
using plan::WorkItem;

std::string range(std::int64_t begin, std::int64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// Keys of a run of pages; only the last page of a request is not full.
std::int64_t keys_of(const DecodeStep& step, std::int64_t pages, std::int64_t request, bool last) {
  if (pages <= 0) return 0;
  if (!last) return pages * step.page_size;
  return keys_in_pages(pages, step.page_size, step.last_page_len[at(request)]);
}

class Collector {
 public:
  explicit Collector(const DecodeStep& step) : step_(step), writer_(at(step.q_rows), -1) {}

  void fault(const std::string& who, const std::string& what) {
    list_.faults.push_back(who + ": " + what);
  }

  // Whether rows are rows of Q; asked before anything is made for each of them.
  bool has_rows(const std::string& who, std::int64_t begin, std::int64_t end) {
    if (begin >= 0 && end >= begin && end <= step_.q_rows) return true;
    fault(who, "query rows " + range(begin, end) + " are not in " + range(0, step_.q_rows));
    return false;
  }

  // Takes the task over if nothing of it leaves a tensor. `writer`: number of the work.
  void admit(const std::string& who, std::int64_t writer, DecodeTask task) {
    const std::int64_t rows = task.q_end - task.q_begin;
    const std::int64_t last = task.partial_row + (rows - 1) * task.partial_stride;
    if (task.partial_row >= 0 && rows > 0 && last >= step_.partial_rows)
      return fault(who, "partial rows up to " + std::to_string(last) + " are not in " +
                            range(0, step_.partial_rows) + " of splitData");
    if (std::string bad = check_pages(task); !bad.empty()) return fault(who, bad);
    if (task.partial_row < 0)
      for (std::int64_t row = task.q_begin; row < task.q_end; ++row) {
        if (writer_[at(row)] >= 0)
          return fault(who, "output row " + std::to_string(row) + " is already written by work " +
                                std::to_string(writer_[at(row)]));
        writer_[at(row)] = writer;
      }
    list_.tasks.push_back(std::move(task));
  }

  DecodeTasks finish() && { return std::move(list_); }

 private:
  [[nodiscard]] std::string check_pages(const DecodeTask& task) const {
    for (std::int64_t start = task.keys.begin; start < task.keys.end; start += task.keys.stride) {
      const std::int64_t stop = std::min(start + task.keys.run, task.keys.end);
      for (std::int64_t page = start / step_.page_size; page * step_.page_size < stop; ++page) {
        const std::int64_t entry = task.first_entry + page;
        if (entry < 0 || entry >= std::ssize(step_.kv_indices))
          return "entry " + std::to_string(entry) + " of kv_page_indices is not in " +
                 range(0, std::ssize(step_.kv_indices));
        const std::int64_t number = step_.kv_indices[at(entry)];
        if (number < 0 || number >= step_.pages)
          return "kv_page_indices[" + std::to_string(entry) + "] is " + std::to_string(number) +
                 ", which is not in " + range(0, step_.pages) + " of the cache";
      }
    }
    return {};
  }

  const DecodeStep& step_;
  std::vector<std::int64_t> writer_;  // of each output row: the work that writes it, or -1
  DecodeTasks list_;
};

// How many of the request's keys on this rank a row sees that `rows_behind` rows follow.
std::int64_t visible_keys(const DecodeStep& step, std::int64_t request, std::int64_t local_keys,
                          std::int64_t rows_behind) {
  if (!step.causal) return local_keys;
  if (step.global_kv_indptr.empty()) return local_keys - rows_behind;
  const std::int64_t keys = std::int64_t{step.global_kv_indptr[at(request + 1)]} -
                            step.global_kv_indptr[at(request)] - rows_behind;
  // Local key j is key j * ranks + rank of the sequence.
  return keys <= step.rank ? 0 : ceil_div(keys - step.rank, step.ranks);
}

void add_work(const DecodeStep& step, const WorkItem& item, std::int64_t fold, std::int64_t work,
              std::int64_t slot, Collector& to) {
  const std::string who = "slot " + std::to_string(slot) + ", work " + std::to_string(work);
  if (item.batch < 0 || item.batch >= step.requests * fold)
    return to.fault(who, "request " + std::to_string(item.batch) + " is not in " +
                             range(0, step.requests * fold));
  if (item.partial_row < -1)
    return to.fault(who,
                    "partial row " + std::to_string(item.partial_row) + " is neither -1 nor a row");
  const std::int64_t request = item.batch / fold;
  const std::int64_t last_len = step.last_page_len[at(request)];
  if (last_len < 1 || last_len > step.page_size)
    return to.fault(who, "last page length " + std::to_string(last_len) + " of request " +
                             std::to_string(request) + " is not in [1, " +
                             std::to_string(step.page_size) + "]");
  if (!to.has_rows(who, item.q_begin, item.q_end)) return;
  DecodeTask task;
  task.q_begin = item.q_begin;
  task.q_end = item.q_end;
  task.partial_row = item.partial_row;
  task.first_entry = item.kv_begin;
  const bool full = step.page_size == 1 || item.kv_offset != 0;
  const std::int64_t keys =
      keys_of(step, std::int64_t{item.kv_end} - item.kv_begin, request, !full);
  task.keys = {.begin = 0, .end = keys, .run = keys, .stride = std::max<std::int64_t>(keys, 1)};
  const std::int64_t row_end =
      fold > 1 ? (std::int64_t{item.batch} + 1) * step.max_qo_len : step.qo_indptr[at(request + 1)];
  // Keys of the request before this work, and up to its last one.
  const std::int64_t before =
      (std::int64_t{item.kv_begin} - step.kv_indptr[at(request)]) * step.page_size;
  for (std::int64_t row = item.q_begin; row < item.q_end; ++row)
    task.limits.push_back(
        visible_keys(step, request, before + keys + item.kv_offset, row_end - 1 - row) - before);
  to.admit(who, work, std::move(task));
}

WorkItem work_at(std::span<const std::int32_t> info, std::int64_t work) {
  std::array<std::int32_t, kWorkItemWords> words{};
  std::copy_n(info.begin() + work * kWorkItemWords, kWorkItemWords, words.begin());
  return std::bit_cast<WorkItem>(words);
}

// Copies of a request that the works name: heads beyond 16 are planned as further requests.
std::int64_t fold_of(const DecodeStep& step, std::int64_t works) {
  std::int64_t last = 0;
  for (std::int64_t work = 0; work < works; ++work)
    last = std::max<std::int64_t>(last, work_at(step.work_info, work).batch);
  const std::int64_t fold = last / step.requests + 1;
  return fold * step.qo_indptr.back() <= step.q_rows ? fold : 1;
}

void add_works(const DecodeStep& step, Collector& to) {
  const auto slots = std::ssize(step.work_indptr) - 1;
  const std::int64_t works = std::ssize(step.work_info) / kWorkItemWords;
  std::int64_t used = 0;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t begin = step.work_indptr[at(slot)];
    const std::int64_t end = step.work_indptr[at(slot + 1)];
    if (begin < 0 || end < begin || end > works)
      return to.fault("slot " + std::to_string(slot),
                      "its works " + range(begin, end) + " are not in " + range(0, works));
    used = std::max(used, end);
  }
  const std::int64_t fold = fold_of(step, used);
  for (std::int64_t slot = 0; slot < slots; ++slot)
    for (std::int64_t w = step.work_indptr[at(slot)]; w < step.work_indptr[at(slot + 1)]; ++w)
      add_work(step, work_at(step.work_info, w), fold, w, slot, to);
}

// Split z of a request takes its key tiles z, z + S, z + 2S, ...
void add_splits(const DecodeStep& step, std::int64_t request, Collector& to) {
  const std::string who = "request " + std::to_string(request);
  const std::int64_t pages =
      std::int64_t{step.kv_indptr[at(request + 1)]} - step.kv_indptr[at(request)];
  const std::int64_t last_len = step.last_page_len[at(request)];
  if (pages < 0 || last_len < 1 || last_len > step.page_size)
    return to.fault(
        who, std::to_string(pages) + " pages, the last of " + std::to_string(last_len) + " tokens");
  const std::int64_t splits =
      std::int64_t{step.splits_indptr[at(request + 1)]} - step.splits_indptr[at(request)];
  if (splits < 0 || splits > step.splits)
    return to.fault(who, std::to_string(splits) + " splits are not in [0, " +
                             std::to_string(step.splits) + "]");
  const std::int64_t tile =
      plan::split_granularity(Heads(step.heads), step.max_qo_len, {step.q_dtype, step.kv_dtype});
  const std::int64_t keys = keys_of(step, pages, request, true);
  if (!to.has_rows(who, step.qo_indptr[at(request)], step.qo_indptr[at(request + 1)])) return;
  for (std::int64_t z = 0; z < splits && keys > z * tile; ++z) {
    DecodeTask task;
    task.q_begin = step.qo_indptr[at(request)];
    task.q_end = step.qo_indptr[at(request + 1)];
    task.first_entry = step.kv_indptr[at(request)];
    task.keys = {.begin = z * tile, .end = keys, .run = tile, .stride = tile * splits};
    task.partial_row = task.q_begin * step.splits + z;
    task.partial_stride = step.splits;
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row)
      task.limits.push_back(visible_keys(step, request, keys, task.q_end - 1 - row));
    to.admit(who + ", split " + std::to_string(z), request, std::move(task));
  }
}

}  // namespace

DecodeTasks tasks_of(const DecodeStep& step) {
  Collector collector(step);
  if (step.persistent) {
    add_works(step, collector);
  } else {
    for (std::int64_t request = 0; request < step.requests; ++request)
      add_splits(step, request, collector);
  }
  return std::move(collector).finish();
}

const std::byte* key_at(const DecodeStep& step, const DecodeTask& task, std::int64_t position) {
  const std::int64_t entry = task.first_entry + position / step.page_size;
  const std::int64_t token = position % step.page_size;
  return step.kv + step.kv_indices[at(entry)] * step.page_bytes +
         token * kKeyDim * element_bytes(step.kv_dtype);
}

}  // namespace mla::abi::aiter
