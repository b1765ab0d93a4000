#include "cpu_backend/decode/task_checks.hpp"

#include <utility>

#include "core/say.hpp"

namespace mla::cpu {
std::string who(const Task& task) {
  return say("work ", task.work, " of slot ", task.slot, ": ");
}

TaskChecks::TaskChecks(const TaskInput& input)
    : addresses_{input.metadata, input.cache},
      kernel_rows_(input.kernel_rows),
      partial_owner_(static_cast<std::size_t>(input.partial_rows), -1) {
  list_.partial_rows = input.partial_rows;
  list_.owner.assign(static_cast<std::size_t>(kernel_rows_), -1);
}

void TaskChecks::fault(const Task& task, const std::string& what) {
  list_.faults.push_back({who(task) + what, task.work, task.slot});
}

std::string TaskChecks::check_rows(const Task& task) const {
  if (task.q_begin < 0 || task.q_end < task.q_begin || task.q_end > kernel_rows_)
    return "query rows " + range(task.q_begin, task.q_end) + " are not in " +
           range(0, kernel_rows_);
  if (task.direct() || task.rows() == 0) return {};
  const std::int64_t last = task.partial_row_of(task.q_end - 1);
  if (last >= list_.partial_rows)
    return "partial rows " + range(task.partial_row, last + 1) + " are not in " +
           range(0, list_.partial_rows);
  return {};
}

std::string TaskChecks::check_keys(const Task& task) const {
  const KeySet& keys = task.keys;
  if (keys.count() == 0) return {};
  const std::int64_t page_size = addresses_.metadata.shape.page_size;
  const auto entries = static_cast<std::int64_t>(addresses_.metadata.kv_indices.size());
  const std::int64_t first = task.first_entry + keys.begin / page_size;
  const std::int64_t last = task.first_entry + (keys.end - 1) / page_size;
  if (first < 0 || last >= entries)
    return "entries " + range(first, last + 1) + " are not in kv_indices " + range(0, entries);
  for (std::int64_t start = keys.begin; start < keys.end; start += keys.stride) {
    for (std::int64_t p = start; p < std::min(start + keys.run, keys.end); ++p) {
      const std::int64_t slot = addresses_.slot(task, p);
      if (addresses_.backed(slot)) continue;
      const CacheView& cache = addresses_.cache;
      return say("entry ", task.first_entry + p / page_size, " of kv_indices leads to cache slot ",
                 slot, ", which is not in ",
                 range(cache.first_slot, cache.first_slot + cache.slots));
    }
  }
  return {};
}

std::string TaskChecks::claim_rows(const Task& task) {
  auto& owners = task.direct() ? list_.owner : partial_owner_;
  const auto index = [&](std::int64_t row) {
    return static_cast<std::size_t>(task.direct() ? row : task.partial_row_of(row));
  };
  for (std::int64_t row = task.q_begin; row < task.q_end; ++row) {
    const std::int64_t other = owners[index(row)];
    if (other >= 0)
      return say(task.direct() ? "output row " : "partial row ", index(row),
                 " is already written by work ", other);
  }
  for (std::int64_t row = task.q_begin; row < task.q_end; ++row) owners[index(row)] = task.work;
  return {};
}

void TaskChecks::admit(const Task& task) {
  std::string bad = check_rows(task);
  if (bad.empty()) bad = check_keys(task);
  if (bad.empty()) bad = claim_rows(task);
  if (!bad.empty()) return fault(task, bad);
  list_.tasks.push_back(task);
}

}  // namespace mla::cpu
