#include "properties/prefill/plan_rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "core/plan/plan.hpp"

namespace mla::prop {
namespace {

using plan::kWorkItemWords;
using plan::WorkItem;
using prefill::kTileRows;
using Sentence = std::optional<std::string>;

constexpr std::size_t kWorksNamed = 8;

std::string range(std::int64_t begin, std::int64_t end) {
  std::string text = "[";
  return text.append(std::to_string(begin)).append(",").append(std::to_string(end)).append(")");
}

WorkItem work_at(const SeenPlan& plan, std::int64_t work) {
  std::array<std::int32_t, kWorkItemWords> words{};
  std::copy_n(plan.work_info.begin() + work * kWorkItemWords, kWorkItemWords, words.begin());
  return std::bit_cast<WorkItem>(words);
}

std::int64_t works_of(const SeenPlan& plan) {
  const auto capacity = static_cast<std::int64_t>(plan.work_info.size()) / kWorkItemWords;
  if (plan.work_indptr.empty()) return 0;
  return std::clamp<std::int64_t>(plan.work_indptr.back(), 0, capacity);
}

// A run of rows of one request, for one head, and the works that hold its keys.
struct TileKey {
  std::int64_t q_begin = 0;
  std::int64_t head = 0;
  auto operator<=>(const TileKey&) const = default;
};
using Tiles = std::map<TileKey, std::vector<WorkItem>>;

class Rules {
 public:
  explicit Rules(const PlanRulesInput& input) : in_(input), plan_(input.plan) {}

  Sentence check() {
    if (auto why = check_indptr()) return why;
    for (std::int64_t w = 0; w < works_of(plan_); ++w)
      if (auto why = collect(w)) return "work " + std::to_string(w) + " " + *why;
    for (std::size_t r = 0; r + 1 < plan_.qo_indptr.size(); ++r)
      for (std::int64_t row = plan_.qo_indptr[r]; row < plan_.qo_indptr[r + 1]; row += kTileRows)
        for (std::int64_t h = 0; h < in_.heads; ++h)
          if (auto why = check_tile(r, row, h))
            return "rows from " + std::to_string(row) + " on, head " + std::to_string(h) + ": " +
                   *why;
    return check_reduce();
  }

 private:
  Sentence check_indptr() const {
    const auto& p = plan_.work_indptr;
    const bool ascends = std::is_sorted(p.begin(), p.end());
    if (p.empty() || p.front() != 0 || !ascends || works_of(plan_) != p.back())
      return "work_indptr does not ascend from 0 to a number of works";
    return std::nullopt;
  }

  Sentence collect(std::int64_t index) {
    const WorkItem w = work_at(plan_, index);
    const std::int64_t head = w.pad & 0xffff;
    if (w.pad >> 16 != head + 1 || head >= in_.heads)
      return "is for heads " + range(head, w.pad >> 16) + " of " + std::to_string(in_.heads);
    if (w.batch < 0 || w.batch + 1 >= static_cast<std::int64_t>(plan_.qo_indptr.size()))
      return "is for request " + std::to_string(w.batch);
    const auto r = static_cast<std::size_t>(w.batch);
    const std::int64_t first = plan_.qo_indptr[r];
    const std::int64_t last = plan_.qo_indptr[r + 1];
    if (w.q_begin < first || (w.q_begin - first) % kTileRows != 0 ||
        w.q_end != std::min(w.q_begin + kTileRows, last) || w.q_end <= w.q_begin)
      return "has rows " + range(w.q_begin, w.q_end) + ", which are no tile of " +
             range(first, last);
    tiles_[{w.q_begin, head}].push_back(w);
    return std::nullopt;
  }

  Sentence check_tile(std::size_t r, std::int64_t row, std::int64_t head) {
    std::vector<WorkItem>& pieces = tiles_[{row, head}];
    std::sort(pieces.begin(), pieces.end(),
              [](const WorkItem& a, const WorkItem& b) { return a.kv_begin < b.kv_begin; });
    const std::int64_t kv_first = plan_.kv_indptr[r];
    const std::int64_t keys = plan_.kv_indptr[r + 1] - kv_first;
    const std::int64_t rows = plan_.qo_indptr[r + 1] - plan_.qo_indptr[r];
    const std::int64_t last_row = std::min(row - plan_.qo_indptr[r] + kTileRows, rows);
    const std::int64_t seen = in_.causal ? keys - rows + last_row : keys;
    std::int64_t next = kv_first;
    for (const WorkItem& w : pieces) {
      if (w.kv_begin != next || w.kv_end <= w.kv_begin)
        return "keys " + range(w.kv_begin, w.kv_end) + " follow key " + std::to_string(next);
      next = w.kv_end;
      if ((w.partial_row < 0) != (pieces.size() == 1))
        return std::to_string(pieces.size()) + " pieces, one writes partial row " +
               std::to_string(w.partial_row);
      if (w.partial_row < 0) continue;
      // Heads share the partial rows of a piece, pieces do not.
      const auto [owner, fresh] = slabs_.insert({w.partial_row, {row, w.kv_begin}});
      if (!fresh && owner->second != std::pair{row, std::int64_t{w.kv_begin}})
        return "partial row " + std::to_string(w.partial_row) + " belongs to two pieces";
      if (w.partial_row % kTileRows != 0 ||
          w.partial_row + kTileRows > plan_.num_partial_tiles * kTileRows)
        return "partial row " + std::to_string(w.partial_row) + " of " +
               std::to_string(plan_.num_partial_tiles) + " tiles";
      wanted_[{row, w.q_end}].insert(w.partial_row);
    }
    if (next < kv_first + seen || next > kv_first + keys)
      return "keys end at " + std::to_string(next - kv_first) + " where " + std::to_string(seen) +
             " of " + std::to_string(keys) + " are seen";
    return std::nullopt;
  }

  Sentence check_reduce() {
    const auto& p = plan_.reduce_indptr;
    if (p.empty() || p.front() != 0 || !std::is_sorted(p.begin(), p.end()) ||
        p.back() > static_cast<std::int64_t>(plan_.reduce_partial_map.size()) ||
        p.back() != plan_.num_partial_tiles)
      return "reduce_indptr does not ascend from 0 to the " +
             std::to_string(plan_.num_partial_tiles) + " partial tiles";
    for (std::size_t t = 0; t + 1 < p.size() && p[t] < p[t + 1]; ++t) {
      const std::pair rows{std::int64_t{plan_.reduce_final_map[2 * t]},
                           std::int64_t{plan_.reduce_final_map[2 * t + 1]}};
      const std::set<std::int64_t> listed(plan_.reduce_partial_map.begin() + p[t],
                                          plan_.reduce_partial_map.begin() + p[t + 1]);
      const auto found = wanted_.find(rows);
      if (found == wanted_.end() || found->second != listed)
        return "the reduce of rows " + range(rows.first, rows.second) +
               " does not name the pieces that they have";
      wanted_.erase(found);
    }
    if (!wanted_.empty())
      return "rows " + range(wanted_.begin()->first.first, wanted_.begin()->first.second) +
             " are cut and not merged";
    return std::nullopt;
  }

  const PlanRulesInput& in_;
  const SeenPlan& plan_;
  Tiles tiles_;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> slabs_;  // who writes partial rows
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> wanted_;
};

}  // namespace

std::optional<std::string> broken_rule(const PlanRulesInput& input) {
  return Rules(input).check();
}

std::vector<std::string> guilty_prefill_works(const PrefillStep& step, std::int64_t row,
                                              std::int64_t head) {
  const std::string path(name(step.shape.path));
  if (!step.metadata.fp8) {
    const auto& why = step.shape.fallback;
    return {"path " + path + (why.empty() ? "" : ": " + why.front())};
  }
  const std::int64_t kernel_head = step.shape.heads.position(head);
  std::vector<std::string> lines{"path " + path};
  for (std::int64_t w = 0; w < works_of(step.plan); ++w) {
    const WorkItem item = work_at(step.plan, w);
    if (row < item.q_begin || row >= item.q_end || (item.pad & 0xffff) != kernel_head) continue;
    if (lines.size() > kWorksNamed) continue;
    lines.push_back(
        "work " + std::to_string(w) + ": request " + std::to_string(item.batch) + ", rows " +
        range(item.q_begin, item.q_end) + ", keys " + range(item.kv_begin, item.kv_end) + ", " +
        (item.partial_row < 0 ? "writes the output"
                              : "writes partial row " + std::to_string(item.partial_row)));
  }
  if (lines.size() == 1) lines.push_back("no work of the plan covers row " + std::to_string(row));
  return lines;
}

}  // namespace mla::prop
