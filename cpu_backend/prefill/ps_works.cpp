#include "cpu_backend/prefill/ps_works.hpp"

#include <algorithm>
#include <string>

#include "core/plan/plan.hpp"
#include "core/say.hpp"

namespace mla::cpu {
namespace {

using plan::kWorkItemWords;
using plan::WorkItem;

bool inside(std::int64_t begin, std::int64_t end, std::int64_t low, std::int64_t high) {
  return begin >= low && end >= begin && end <= high;
}

std::int64_t at(WordSpan list, std::int64_t i) {
  return list[static_cast<std::size_t>(i)];
}

class Reader {
 public:
  Reader(const PsLaunch& launch, PsOutput& output, std::vector<Fault>& faults)
      : launch_(launch),
        output_(output),
        faults_(faults),
        direct_(static_cast<std::size_t>(output.rows * output.heads), -1),
        partial_(static_cast<std::size_t>(output.partial_rows * output.heads), -1) {
    output_.owner.assign(static_cast<std::size_t>(output.rows), -1);
  }

  void add(std::int64_t work, std::int64_t slot) {
    const WorkItem item = launch_.plan.work(work);
    PsTask task{.work = work, .slot = slot};
    std::string bad = locate(item, task);
    if (bad.empty()) bad = check_keys(task);
    if (bad.empty()) bad = claim(task);
    if (bad.empty()) {
      tasks_.push_back(task);
    } else {
      fault({std::move(bad), work, slot});
    }
  }

  void fault(Fault fault) {
    fault.what = say("work ", fault.work, " of slot ", fault.slot, ": ", fault.what);
    faults_.push_back(std::move(fault));
  }

  std::vector<PsTask> finish() && { return std::move(tasks_); }

 private:
  // The kernel takes the lengths of the request from the lists, and its head from the low half of
  // the last word.
  std::string locate(const WorkItem& item, PsTask& task) const {
    const PlanSpans& p = launch_.plan;
    const auto requests = static_cast<std::int64_t>(p.qo_indptr.size()) - 1;
    if (item.batch < 0 || item.batch >= requests)
      return say("request ", item.batch, " is not in ", range(0, requests));
    const std::int64_t q_first = at(p.qo_indptr, item.batch);
    const std::int64_t q_last = at(p.qo_indptr, item.batch + 1);
    const std::int64_t kv_first = at(p.kv_indptr, item.batch);
    const std::int64_t kv_last = at(p.kv_indptr, item.batch + 1);
    task.head = item.first_head();
    if (task.head >= output_.heads)
      return say("head ", task.head, " is not in ", range(0, output_.heads));
    if (!inside(item.q_begin, item.q_end, q_first, std::min(q_last, output_.rows)) ||
        item.q_end - item.q_begin > prefill::kTileRows)
      return "query rows " + range(item.q_begin, item.q_end) + " are no tile of request rows " +
             range(q_first, q_last);
    if (!inside(item.kv_begin, item.kv_end, kv_first, kv_last))
      return "keys " + range(item.kv_begin, item.kv_end) + " are not in the request's " +
             range(kv_first, kv_last);
    task.q_begin = item.q_begin;
    task.q_end = item.q_end;
    task.kv_begin = item.kv_begin;
    task.keys = std::int64_t{item.kv_end} - item.kv_begin;
    task.partial_row = item.partial_row;
    task.first_visible = task.keys;
    task.visible_step = 0;
    if (launch_.causal) {
      const std::int64_t first_row_sees =
          (kv_last - kv_first) - (q_last - q_first) + (item.q_begin - q_first) + 1;
      task.first_visible = first_row_sees - (item.kv_begin - kv_first);
      task.visible_step = 1;
    }
    if (task.partial_row == -1) return {};
    if (task.partial_row < 0 || task.partial_row + task.q_end - task.q_begin > output_.partial_rows)
      return say("partial row ", task.partial_row, " and the rows after it are not in ",
                 range(0, output_.partial_rows));
    return {};
  }

  std::string check_keys(const PsTask& task) const {
    const auto entries = static_cast<std::int64_t>(launch_.plan.kv_indices.size());
    if (task.kv_begin + task.keys > entries)
      return "keys " + range(task.kv_begin, task.kv_begin + task.keys) + " are not in kv_indices " +
             range(0, entries);
    for (std::int64_t i = task.kv_begin; i < task.kv_begin + task.keys; ++i)
      if (const std::int64_t row = at(launch_.plan.kv_indices, i); row < 0 || row >= launch_.k.rows)
        return say("entry ", i, " of kv_indices names key ", row, ", which is not in ",
                   range(0, launch_.k.rows));
    return {};
  }

  std::string claim(const PsTask& task) {
    const bool direct = task.partial_row < 0;
    std::vector<std::int64_t>& owners = direct ? direct_ : partial_;
    const std::int64_t first = direct ? task.q_begin : task.partial_row;
    for (std::int64_t row = first; row < first + task.q_end - task.q_begin; ++row) {
      std::int64_t& owner = owners[static_cast<std::size_t>(row * output_.heads + task.head)];
      if (owner >= 0)
        return say(direct ? "output row " : "partial row ", row, " of head ", task.head,
                   " is already written by work ", owner);
      owner = task.work;
      if (direct) output_.owner[static_cast<std::size_t>(row)] = task.work;
    }
    return {};
  }

  const PsLaunch& launch_;
  PsOutput& output_;
  std::vector<Fault>& faults_;
  std::vector<std::int64_t> direct_, partial_;  // [rows, heads]: a work, or -1
  std::vector<PsTask> tasks_;
};

}  // namespace

std::vector<PsTask> read_ps_works(const PsLaunch& launch, PsOutput& output,
                                  std::vector<Fault>& faults) {
  Reader reader(launch, output, faults);
  const WordSpan indptr = launch.plan.work_indptr;
  const auto works = static_cast<std::int64_t>(launch.plan.work_info.size()) / kWorkItemWords;
  for (std::int64_t slot = 0; slot + 1 < static_cast<std::int64_t>(indptr.size()); ++slot) {
    const std::int64_t begin = at(indptr, slot);
    const std::int64_t end = at(indptr, slot + 1);
    if (!inside(begin, end, 0, works)) {
      reader.fault({"its works " + range(begin, end) + " are not in " + range(0, works), -1, slot});
      continue;
    }
    for (std::int64_t work = begin; work < end; ++work) reader.add(work, slot);
  }
  return std::move(reader).finish();
}

}  // namespace mla::cpu
