#include "cpu_backend/decode/split_route.hpp"

#include <string>

#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/task_checks.hpp"

namespace mla::cpu {
namespace {

struct Request {
  std::int64_t index = 0;
  std::int64_t q_begin = 0;
  std::int64_t q_end = 0;
  std::int64_t first_entry = 0;
  std::int64_t pages = 0;
  std::int64_t last_page_len = 1;
  [[nodiscard]] std::int64_t keys(std::int64_t page_size) const {
    return keys_in_pages(pages, page_size, last_page_len);
  }
};

Request request_at(const DecodeMetadata& md, std::int64_t index) {
  const auto i = static_cast<std::size_t>(index);
  return {.index = index,
          .q_begin = md.qo_indptr[i],
          .q_end = md.qo_indptr[i + 1],
          .first_entry = md.kv_indptr[i],
          .pages = std::int64_t{md.kv_indptr[i + 1]} - md.kv_indptr[i],
          .last_page_len = md.last_page_len[i]};
}

std::int64_t splits_of(const TaskInput& input, std::int64_t request) {
  if (input.splits_indptr.empty()) return input.metadata.shape.kv_splits;
  const auto r = static_cast<std::size_t>(request);
  return std::int64_t{input.splits_indptr[r + 1]} - input.splits_indptr[r];
}

void add_request(const Request& request, const TaskInput& input, TaskChecks& checks) {
  const ResolvedShape& shape = input.metadata.shape;
  const auto fault = [&](const std::string& what) {
    checks.fault({say("request ", request.index, ": ", what), -1, -1});
  };
  if (request.pages < 0) return fault(say(request.pages, " pages"));
  if (request.last_page_len < 1 || request.last_page_len > shape.page_size)
    return fault(
        say("last page length ", request.last_page_len, " is not in [1, ", shape.page_size, "]"));
  const std::int64_t keys = request.keys(shape.page_size);
  const std::int64_t rows = request.q_end - request.q_begin;
  const std::int64_t splits = splits_of(input, request.index);
  if (splits < 0 || splits > shape.kv_splits)
    return fault(say(splits, " splits are not in [0, ", shape.kv_splits, "]"));
  for (std::int64_t z = 0; z < splits && keys > z * shape.split_granularity; ++z) {
    const bool direct = shape.kv_splits == 1;
    Task task{.work = request.index * shape.kv_splits + z,
              .slot = -1,
              .q_begin = request.q_begin,
              .q_end = request.q_end,
              .first_entry = request.first_entry,
              .keys = {.begin = z * shape.split_granularity,
                       .end = keys,
                       .run = shape.split_granularity,
                       .stride = shape.split_granularity * splits},
              .first_limit = keys,
              .partial_row = direct ? -1 : request.q_begin * shape.kv_splits + z,
              .partial_stride = shape.kv_splits};
    if (shape.causal && shape.kernel.masks)
      limit_rows(task, input.share, request.index, keys, 0, rows - 1);
    checks.admit(task);
  }
}

}  // namespace

TaskList split_tasks(const TaskInput& input) {
  const DecodeMetadata& md = input.metadata;
  TaskChecks checks(input);
  for (std::int64_t r = 0; r < md.requests().count(); ++r)
    add_request(request_at(md, r), input, checks);
  return std::move(checks).finish();
}

MergeList split_merges(const DecodeMetadata& md, const TaskList& stage1) {
  const std::int64_t splits = md.shape.kv_splits;
  MergeList list;
  if (splits == 1) return list;
  // The tasks of split 0 name the rows that were written at all.
  for (const Task& task : stage1.tasks) {
    if (task.work % splits != 0) continue;
    const std::int64_t tiles = ceil_div(task.keys.end, md.shape.split_granularity);
    const std::int64_t count = std::min(splits, tiles);
    for (std::int64_t row = task.q_begin; row < task.q_end; ++row) {
      list.rows.push_back({.row = row,
                           .first = static_cast<std::int64_t>(list.partials.size()),
                           .count = count,
                           .form = MergeForm::running});
      for (std::int64_t z = 0; z < count; ++z) list.partials.push_back(row * splits + z);
    }
  }
  return list;
}

}  // namespace mla::cpu
