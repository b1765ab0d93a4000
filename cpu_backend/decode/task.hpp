// Task: one checked piece of stage-1 work, whichever route it came from.
//
// Rows are kernel rows, keys are tokens counted from the first entry of the task in kv_indices.
// A task that exists has passed every range check, so executing it reads and writes only what it
// may. The persistent routes make one run of keys; the split route takes every S-th tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"
#include "core/units.hpp"

namespace mla::cpu {

// Token positions [begin, end) of which only the first `run` of each `stride` are taken.
struct KeySet {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t run = 1;
  std::int64_t stride = 1;

  // How many of the positions lie below `limit`.
  [[nodiscard]] std::int64_t count_below(std::int64_t limit) const {
    const std::int64_t span = std::min(limit, end) - begin;
    if (span <= 0) return 0;
    return span / stride * run + std::min(span % stride, run);
  }
  [[nodiscard]] std::int64_t count() const { return count_below(end); }
  bool operator==(const KeySet&) const = default;
};

struct Task {
  std::int64_t work = -1;
  std::int64_t slot = -1;
  std::int64_t q_begin = 0;  // kernel rows [q_begin, q_end)
  std::int64_t q_end = 0;
  std::int64_t first_entry = 0;  // of kv_indices: where key position 0 lies
  KeySet keys;
  // Row q_begin + t sees the positions below ceil((first_limit + t * limit_step) / ranks) - before.
  std::int64_t first_limit = 0;
  std::int64_t limit_step = 0;
  std::int64_t ranks = 1;           // that share the context; limits count keys of all of them
  std::int64_t before = 0;          // keys of the request, on this rank, before position 0
  std::int64_t partial_row = -1;    // of row q_begin; -1: writes the final output
  std::int64_t partial_stride = 1;  // partial rows from one row to the next

  [[nodiscard]] bool direct() const { return partial_row < 0; }
  [[nodiscard]] std::int64_t rows() const { return q_end - q_begin; }
  [[nodiscard]] std::int64_t visible(std::int64_t row) const {
    const std::int64_t limit = first_limit + (row - q_begin) * limit_step;
    return keys.count_below(ceil_div(std::max<std::int64_t>(limit, 0), ranks) - before);
  }
  [[nodiscard]] std::int64_t partial_row_of(std::int64_t row) const {
    return partial_row + (row - q_begin) * partial_stride;
  }
  bool operator==(const Task&) const = default;
};

// What the planning of tasks found out: which may run, and what is wrong with the others.
struct TaskList {
  std::vector<Task> tasks;          // in ascending (slot, work) order
  std::int64_t partial_rows = 0;    // rows that the partial buffers have
  std::vector<std::int64_t> owner;  // of each kernel row of the output: its work, or -1
  std::vector<Fault> faults;
};

// Rows of the cache, wherever they lie: slots [first_slot, first_slot + slots). Between pages there
// may be a gap.
struct CacheView {
  const std::byte* bytes = nullptr;
  std::int64_t first_slot = 0;
  std::int64_t slots = 0;
  std::int64_t row_bytes = 0;
  std::int64_t gap_slots = 1;  // after so many slots there are
  std::int64_t gap_bytes = 0;  // so many bytes of something else

  [[nodiscard]] const std::byte* row(std::int64_t slot) const {
    const std::int64_t at = slot - first_slot;
    return bytes + at * row_bytes + at / gap_slots * gap_bytes;
  }
  static CacheView of(const KvCache& cache) {
    return {.bytes = cache.bytes.data(),
            .first_slot = cache.first_slot,
            .slots = cache.slots,
            .row_bytes = cache.row_bytes()};
  }
};

// Ranks that share a context key by key: key j of this rank is key j * ranks + rank of the request.
struct RankShare {
  std::span<const std::int32_t> global_kv_indptr{};  // [batch + 1] keys; empty: there is one rank
  std::int64_t ranks = 1;
  std::int64_t rank = 0;
};

// What the planning of tasks looks at, besides the works themselves.
struct TaskInput {
  const DecodeMetadata& metadata;  // lists of the batch; of the shape: mask, pages, splits
  CacheView cache;
  std::int64_t kernel_rows = 0;   // of Q and of the output
  std::int64_t fold = 1;          // kernel requests of one request
  std::int64_t partial_rows = 0;  // of the partial buffers
  RankShare share{};
  // Splits of request r: entry r + 1 less entry r; empty: as many as the shape says for all.
  std::span<const std::int32_t> splits_indptr{};
};

// What the rows of a causal task see: `rows_after` rows of the request follow its first row, and of
// the `keys` positions that lie before the request's end on this rank `before` are not the task's.
inline void limit_rows(Task& task, const RankShare& share, std::int64_t request, std::int64_t keys,
                       std::int64_t before, std::int64_t rows_after) {
  task.limit_step = 1;
  task.first_limit = keys - rows_after;
  if (share.global_kv_indptr.empty()) return;
  const auto r = static_cast<std::size_t>(request);
  task.first_limit = std::int64_t{share.global_kv_indptr[r + 1]} - share.global_kv_indptr[r] -
                     rows_after - share.rank;
  task.ranks = share.ranks;
  task.before = before;
}

// Where a task's keys lie, for checking and for reading.
struct KeyAddresses {
  const DecodeMetadata& metadata;
  CacheView cache;

  // Slot of the key at `position` of the task; the entry must lie inside kv_indices.
  [[nodiscard]] std::int64_t slot(const Task& task, std::int64_t position) const {
    const std::int64_t page_size = metadata.shape.page_size;
    const std::int64_t entry = task.first_entry + position / page_size;
    const std::int64_t page = metadata.kv_indices[static_cast<std::size_t>(entry)];
    return page * page_size + position % page_size;
  }
  [[nodiscard]] bool backed(std::int64_t slot) const {
    return slot >= cache.first_slot && slot < cache.first_slot + cache.slots;
  }
  [[nodiscard]] const std::byte* row(std::int64_t slot) const { return cache.row(slot); }
};

}  // namespace mla::cpu
