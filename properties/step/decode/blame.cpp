#include "properties/step/decode/blame.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kPartialsNamed = 16;

// The slot whose run of works holds `work`, or -1.
std::int64_t slot_of(const plan::Plan& plan, std::int64_t work) {
  for (std::int64_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot)
    if (plan.work_indptr.at(slot) <= work && work < plan.work_indptr.at(slot + 1)) return slot;
  return -1;
}

std::string describe(const plan::Plan& plan, std::int64_t index) {
  const plan::WorkItem w = plan.work(index);
  const std::string target = w.partial_row < 0 ? std::string("writes the output")
                                               : say("writes partial row ", w.partial_row);
  return say("work ", index, " on slot ", slot_of(plan, index), ": batch ", w.batch, ", rows ",
             range(w.q_begin, w.q_end), ", pages ", range(w.kv_begin, w.kv_end), ", ", w.kv_offset,
             " tokens after them, ", target);
}

// The merge that writes `row`, or nothing if no tile names it.
std::string describe_merge(const plan::Plan& plan, std::int64_t row) {
  for (std::int64_t tile = 0; tile + 1 < plan.reduce_indptr.size(); ++tile) {
    const std::int64_t begin = plan.reduce_indptr.at(tile);
    const std::int64_t end = plan.reduce_indptr.at(tile + 1);
    const std::int64_t first = plan.reduce_final_map.at(2 * tile);
    const std::int64_t last = plan.reduce_final_map.at(2 * tile + 1);
    if (end - begin < 2 || row < first || row >= last) continue;
    std::string text =
        say("tile ", tile, ": merges into rows ", range(first, last), " the partial rows");
    const std::int64_t shown = std::min<std::int64_t>(end, begin + kPartialsNamed);
    for (std::int64_t k = begin; k < shown; ++k)
      text += say(" ", plan.reduce_partial_map.at(k) + row - first);
    if (shown < end) text += say(" and ", end - shown, " more");
    return text;
  }
  return {};
}

}  // namespace

std::int64_t kernel_row_of(const ResolvedShape& shape, std::int64_t query_row, std::int64_t head) {
  const std::int64_t row = shape.launch_row(query_row);
  const std::int64_t fold = shape.fold_ratio();
  if (fold == 1) return row;
  const std::int64_t group = shape.heads.position(head) / shape.row_heads().count();
  const std::int64_t qo_len = shape.uniform_qo_len;
  return (row / qo_len * fold + group) * qo_len + row % qo_len;
}

std::vector<std::string> guilty_works(const DecodeMetadata& metadata, std::int64_t row,
                                      std::int64_t head, std::size_t limit) {
  if (!metadata.plan)
    return {say("no plan: route ", name(metadata.shape.route), ", ", metadata.shape.kv_splits,
                " splits of every request")};
  const plan::Plan& plan = *metadata.plan;
  const std::int64_t wanted = kernel_row_of(metadata.shape, row, head);
  std::vector<std::string> lines;
  std::size_t found = 0;
  for (std::int64_t i = 0; i < plan.works(); ++i) {
    const plan::WorkItem w = plan.work(i);
    if (wanted < w.q_begin || wanted >= w.q_end) continue;
    if (++found <= limit) lines.push_back(describe(plan, i));
  }
  if (found > limit) lines.push_back(say("and ", found - limit, " more works"));
  if (found == 0) lines.push_back(say("no work of the plan covers kernel row ", wanted));
  const std::string merge = describe_merge(plan, wanted);
  if (!merge.empty()) lines.push_back(merge);
  return lines;
}

}  // namespace mla::prop
