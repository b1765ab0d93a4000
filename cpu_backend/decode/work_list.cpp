#include "cpu_backend/decode/work_list.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/task_checks.hpp"

namespace mla::cpu {
namespace {

using plan::kWorkItemWords;
using plan::PlanView;
using plan::WorkItem;

// The two arrays that work_meta_data names, or a fault when an address is not that of its buffer: a
// foreign address cannot be followed.
struct WorkArrays {
  const std::int32_t* indptr = nullptr;
  const std::int32_t* info = nullptr;
};

WorkArrays follow_addresses(const PlanView& plan, TaskChecks& checks) {
  const auto follow = [&](std::size_t word, std::span<const std::int32_t> buffer,
                          const char* name) -> const std::int32_t* {
    const std::uint64_t address = plan.work_meta_data[word];
    if (address == std::bit_cast<std::uint64_t>(buffer.data())) return buffer.data();
    checks.fault(
        {say("work_meta_data[", word, "] is ", address, ", which is not the address of ", name), -1,
         -1});
    return nullptr;
  };
  return {follow(0, plan.work_indptr, "work_indptr"), follow(1, plan.work_info, "work_info_set")};
}

// Kernel rows of folded request `batch` end here.
std::int64_t row_end(const DecodeMetadata& md, std::int64_t fold, std::int64_t batch) {
  if (fold > 1) return (batch + 1) * md.shape.uniform_qo_len;
  return md.qo_indptr[static_cast<std::size_t>(batch) + 1];
}

// Tokens of the work's pages [kv_begin, kv_end). Only the last page of a request is not full, and
// kv_offset == 0 says that the work reaches it.
std::int64_t key_count(const DecodeMetadata& md, const WorkItem& item, std::int64_t request) {
  const std::int64_t pages = std::int64_t{item.kv_end} - item.kv_begin;
  if (pages <= 0) return 0;
  if (md.shape.page_size == 1 || item.kv_offset != 0) return pages * md.shape.page_size;
  return keys_in_pages(pages, md.shape.page_size,
                       md.last_page_len[static_cast<std::size_t>(request)]);
}

void add_work(const WorkItem& item, std::int64_t work, std::int64_t slot, const TaskInput& input,
              TaskChecks& checks) {
  const DecodeMetadata& md = input.metadata;
  const std::int64_t fold = input.fold;
  Task task;
  task.work = work;
  task.slot = slot;
  const std::int64_t folded = md.requests().count() * fold;
  if (item.batch < 0 || item.batch >= folded)
    return checks.fault(task, say("request ", item.batch, " is not in [0, ", folded, ")"));
  if (item.partial_row < -1)
    return checks.fault(task, say("partial row ", item.partial_row, " is neither -1 nor a row"));
  // Such a work still has rows to write: they get output 0 and LSE -inf, like those of an empty
  // one.
  if (item.kv_end < item.kv_begin)
    checks.fault(task,
                 say("its pages end at ", item.kv_end, ", before they begin at ", item.kv_begin));
  const std::int64_t request = item.batch / fold;
  const std::int64_t last_len = md.last_page_len[static_cast<std::size_t>(request)];
  if (last_len < 1 || last_len > md.shape.page_size)
    return checks.fault(task, say("last page length ", last_len, " of request ", request,
                                  " is not in [1, ", md.shape.page_size, "]"));
  task.q_begin = item.q_begin;
  task.q_end = item.q_end;
  task.partial_row = item.partial_row;
  task.first_entry = item.kv_begin;
  const std::int64_t keys = key_count(md, item, request);
  task.keys = {.begin = 0, .end = keys, .run = keys, .stride = keys > 0 ? keys : 1};
  // Causal: the last row of the request sees all its keys, each earlier row one less. Keys that
  // belong to the request but lie after this work count as kv_offset.
  task.first_limit = keys;
  if (md.shape.causal && md.shape.kernel.masks) {
    const std::int64_t first_page = md.kv_indptr[static_cast<std::size_t>(request)];
    limit_rows(task, input.share, request, keys + item.kv_offset,
               (item.kv_begin - first_page) * md.shape.page_size,
               row_end(md, fold, item.batch) - 1 - item.q_begin);
  }
  checks.admit(task);
}

}  // namespace

TaskList read_works(const PlanView& plan, const TaskInput& input) {
  TaskChecks checks(input);
  const WorkArrays arrays = follow_addresses(plan, checks);
  if (arrays.indptr == nullptr || arrays.info == nullptr) return std::move(checks).finish();

  const auto slots = static_cast<std::int64_t>(plan.work_indptr.size()) - 1;
  const auto works = static_cast<std::int64_t>(plan.work_info.size()) / kWorkItemWords;
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t begin = arrays.indptr[slot];
    const std::int64_t end = arrays.indptr[slot + 1];
    if (begin < 0 || end < begin || end > works) {
      checks.fault(
          {say("slot ", slot, ": its works [", begin, ", ", end, ") are not in [0, ", works, ")"),
           -1, slot});
      continue;
    }
    for (std::int64_t work = begin; work < end; ++work)
      add_work(plan::work_of(arrays.info + work * kWorkItemWords), work, slot, input, checks);
  }
  return std::move(checks).finish();
}

}  // namespace mla::cpu
