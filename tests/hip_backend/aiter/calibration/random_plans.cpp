#include <algorithm>

#include "tests/hip_backend/aiter/calibration/plan_changes.hpp"

namespace mla::hip::aiter::test {
namespace {

using plan::PlanCheckInput;
using plan::PlanningRequest;
using plan::WorkItem;

class Draw {
 public:
  Draw(const PlanCheckInput& input, std::mt19937_64& random) : input_(input), random_(random) {}

  PlanWords plan(std::int64_t least_keys, bool odd_tiles) {
    least_keys_ = least_keys;
    odd_tiles_ = odd_tiles;
    slots_.assign(input_.plan.work_indptr.size() - 1, {});
    lists_.clear();
    partial_rows_ = 0;
    const auto requests = plan::planning_requests(input_);
    for (std::size_t b = 0; b < requests.size(); ++b) draw_request(requests[b], b);
    return write();
  }

 private:
  struct List {
    std::int32_t q_begin;
    std::int32_t q_end;
    std::vector<std::int32_t> rows;
  };
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

  void draw_request(const PlanningRequest& r, std::size_t batch) {
    const std::int64_t rows = input_.shape.tile_rows(r.q_end - r.q_begin);
    for (std::int64_t q = r.q_begin; q < r.q_end;) {
      const std::int64_t most = std::min(rows, r.q_end - q);
      const std::int64_t take = odd_tiles_ ? between(1, most) : most;
      draw_tile(r, batch, q, q + take);
      q += take;
    }
  }

  void draw_tile(const PlanningRequest& r, std::size_t batch, std::int64_t q_begin,
                 std::int64_t q_end) {
    const std::int64_t page = input_.page_size;
    const std::int64_t seen =
        input_.causal ? std::clamp<std::int64_t>(seen_keys(input_, r, q_end - 1), 0, r.tokens)
                      : r.tokens;
    const std::int64_t visible = (seen + page - 1) / page;
    const bool whole = input_.kernel_masks && seen < r.tokens && between(0, 1) == 1;
    const std::int64_t end = whole ? r.kv_end - r.kv_begin : visible;
    std::vector<std::int64_t> cuts = {0, end};
    for (std::int64_t i = between(0, 3); i > 0; --i) {
      const std::int64_t cut = between(0, end);
      const bool far = std::all_of(cuts.begin(), cuts.end(), [&](std::int64_t other) {
        return std::abs(other - cut) >= least_keys_;
      });
      if (far) cuts.push_back(cut);
    }
    std::sort(cuts.begin(), cuts.end());
    List list{static_cast<std::int32_t>(q_begin), static_cast<std::int32_t>(q_end), {}};
    const bool split = cuts.size() > 2;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const std::int64_t last = std::min(cuts[i + 1] * page, r.tokens);
      WorkItem item{.batch = static_cast<std::int32_t>(batch),
                    .q_begin = list.q_begin,
                    .q_end = list.q_end,
                    .kv_begin = static_cast<std::int32_t>(r.kv_begin + cuts[i]),
                    .kv_end = static_cast<std::int32_t>(r.kv_begin + cuts[i + 1]),
                    .kv_offset = static_cast<std::int32_t>(r.tokens - last)};
      if (split) {
        partial_rows_ += between(0, 1);  // a row that is not used
        item.partial_row = static_cast<std::int32_t>(partial_rows_);
        list.rows.push_back(item.partial_row);
        partial_rows_ += q_end - q_begin;
      }
      slots_[random_() % slots_.size()].push_back(item);
    }
    if (split) lists_.push_back(std::move(list));
  }

  PlanWords write() {
    PlanWords out;
    out.work_indptr.push_back(0);
    std::vector<WorkItem> works;
    for (auto& slot : slots_) {
      std::shuffle(slot.begin(), slot.end(), random_);
      works.insert(works.end(), slot.begin(), slot.end());
      out.work_indptr.push_back(static_cast<std::int32_t>(works.size()));
    }
    out.work_info.assign((works.size() + 2) * plan::kWorkItemWords, plan::kPoison);
    for (std::size_t w = 0; w < works.size(); ++w) out.set_work(w, works[w]);
    std::shuffle(lists_.begin(), lists_.end(), random_);
    out.reduce_indptr.push_back(0);
    for (const List& list : lists_) {
      out.reduce_final_map.insert(out.reduce_final_map.end(), {list.q_begin, list.q_end});
      out.reduce_partial_map.insert(out.reduce_partial_map.end(), list.rows.begin(),
                                    list.rows.end());
      out.reduce_indptr.push_back(static_cast<std::int32_t>(out.reduce_partial_map.size()));
    }
    out.reduce_indptr.push_back(out.reduce_indptr.back());
    out.reduce_final_map.insert(out.reduce_final_map.end(), {plan::kPoison, plan::kPoison});
    // As many rows as the slabs reach to.
    const std::int64_t longest = std::max<std::int64_t>(input_.max_qo_len, 1);
    const auto entries = static_cast<std::size_t>((partial_rows_ + longest) / longest);
    out.reduce_partial_map.resize(std::max(entries, out.reduce_partial_map.size()) + 1,
                                  plan::kPoison);
    return out;
  }

  const PlanCheckInput& input_;
  std::mt19937_64& random_;
  std::int64_t least_keys_ = 1;
  bool odd_tiles_ = false;
  std::vector<std::vector<WorkItem>> slots_;
  std::vector<List> lists_;
  std::int64_t partial_rows_ = 0;
};

}  // namespace

std::vector<PlanChange> random_plans(const PlanCheckInput& input, std::int64_t count,
                                     std::mt19937_64& random) {
  std::vector<PlanChange> out;
  Draw draw(input, random);
  const std::int64_t rows = std::max<std::int64_t>(input.max_qo_len, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    out.push_back({"random plan", "number " + std::to_string(i), draw.plan(rows, false)});
    out.push_back({"random plan, any cuts", "number " + std::to_string(i), draw.plan(1, false)});
    out.push_back({"random plan, odd tiles", "number " + std::to_string(i), draw.plan(rows, true)});
  }
  return out;
}

}  // namespace mla::hip::aiter::test
