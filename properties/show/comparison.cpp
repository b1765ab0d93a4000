#include "properties/show/comparison.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/arch.hpp"
#include "core/say.hpp"
#include "core/units.hpp"
#include "properties/show/svg.hpp"

namespace mla::show {
namespace {

// Buffers may hold anything: more rows or heads than this are none, and products stay in int64.
constexpr std::int64_t kMostRows = std::int64_t{1} << 36;
constexpr std::int64_t kMostHeads = 4096;

// Request, first and last row of it, first and last key of it.
using Piece = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Piece piece_of(const DrawnPlan& plan, const Work& w) {
  if (w.request < 0) return {-1, w.record.q_begin, w.record.q_end, w.key_begin, w.key_end};
  const std::int64_t first = plan.requests[static_cast<std::size_t>(w.request)].q_begin;
  return {w.request, w.record.q_begin - first, w.record.q_end - first, w.key_begin, w.key_end};
}

std::string batches_differ(const DrawnPlan& a, const DrawnPlan& b) {
  if (a.requests.size() != b.requests.size())
    return say(a.requests.size(), " and ", b.requests.size(), " planning requests");
  if (a.page_size != b.page_size)
    return say("pages of ", a.page_size, " and of ", b.page_size, " tokens");
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    const plan::PlanningRequest& x = a.requests[i];
    const plan::PlanningRequest& y = b.requests[i];
    if (x.tokens != y.tokens || x.q_end - x.q_begin != y.q_end - y.q_begin)
      return say(a.request_name(static_cast<std::int64_t>(i)), " has ",
                 counted(x.q_end - x.q_begin, "row"), " and ", x.tokens, " keys in the first, ",
                 counted(y.q_end - y.q_begin, "row"), " and ", y.tokens, " keys in the second");
  }
  return {};
}

PlanCost cost_of(const ComparedPlan& p, const Comparison& c, std::int64_t block_keys) {
  PlanCost out;
  out.works = std::ssize(p.plan.works);
  out.slots = p.plan.slots;
  out.merges = std::ssize(p.plan.tiles);
  std::vector<std::int64_t> slots(static_cast<std::size_t>(p.plan.slots));
  for (const Work& w : p.plan.works) {
    out.keys += w.keys();
    if (w.slot < 0) continue;
    slots[static_cast<std::size_t>(w.slot)] += ceil_div(w.keys(), block_keys) + c.overhead;
  }
  std::set<std::int64_t> busy;
  for (const Work& w : p.plan.works)
    if (w.slot >= 0) busy.insert(w.slot);
  out.busy = std::ssize(busy);
  for (const std::int64_t blocks : slots) {
    out.busiest = std::max(out.busiest, blocks);
    out.blocks += blocks;
  }
  for (const Tile& t : p.plan.tiles)
    out.partial_rows +=
        std::max<std::int64_t>(0, t.row_end - t.row_begin) * std::ssize(t.partial_rows);
  out.partial_rows = std::min(out.partial_rows, kMostRows);
  out.traffic = 2 * out.partial_rows * std::clamp<std::int64_t>(p.heads, 1, kMostHeads) *
                (p.value.count() + 1) * 4;  // the LSE included
  return out;
}

void match_works(const DrawnPlan& a, const DrawnPlan& b, Comparison& c) {
  std::map<Piece, std::vector<std::int64_t>> open;  // works of the first plan, last ones first
  for (auto w = a.works.rbegin(); w != a.works.rend(); ++w)
    open[piece_of(a, *w)].push_back(w->index);
  c.partner.assign(b.works.size(), -1);
  for (std::size_t i = 0; i < b.works.size(); ++i) {
    const Work& w = b.works[i];
    const auto found = open.find(piece_of(b, w));
    if (found == open.end() || found->second.empty()) {
      c.only[1].push_back(w.index);
      continue;
    }
    const Work& other = a.works[static_cast<std::size_t>(found->second.back())];
    found->second.pop_back();
    c.partner[i] = other.index;
    if (other.slot != w.slot)
      c.moved.emplace_back(other.index, w.index);
    else
      ++c.same;
    c.renumbered += other.index != w.index || other.record.partial_row != w.record.partial_row ||
                            other.record.kv_offset != w.record.kv_offset
                        ? 1
                        : 0;
  }
  for (const auto& [piece, works] : open)
    c.only[0].insert(c.only[0].end(), works.begin(), works.end());
  std::sort(c.only[0].begin(), c.only[0].end());
}

void compare_splits(const DrawnPlan& a, const DrawnPlan& b, Comparison& c) {
  std::map<std::int64_t, SplitChange> all;
  const DrawnPlan* plans[] = {&a, &b};
  for (std::size_t side = 0; side < 2; ++side)
    for (const Work& w : plans[side]->works) {
      if (w.request < 0) continue;
      SplitChange& s = all[w.request];
      s.request = w.request;
      ++s.pieces[side];
      if (w.key_begin > 0) s.cuts[side].push_back(w.key_begin);
    }
  for (auto& [request, s] : all) {
    for (std::vector<std::int64_t>& cuts : s.cuts) {
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    }
    if (s.cuts[0] != s.cuts[1] || s.pieces[0] != s.pieces[1]) c.splits.push_back(std::move(s));
  }
}

void compare_merges(const DrawnPlan& a, const DrawnPlan& b, Comparison& c) {
  std::map<std::pair<std::int64_t, std::int64_t>, MergeChange> all;
  const DrawnPlan* plans[] = {&a, &b};
  for (std::size_t side = 0; side < 2; ++side)
    for (const Tile& t : plans[side]->tiles) {
      MergeChange& m = all[{t.row_begin, t.row_end}];
      m.row_begin = t.row_begin;
      m.row_end = t.row_end;
      m.pieces[side] += std::ssize(t.partial_rows);
    }
  for (const auto& [rows, m] : all)
    if (m.pieces[0] != m.pieces[1]) c.merges.push_back(m);
}

}  // namespace

double PlanCost::imbalance() const {
  if (blocks == 0 || slots == 0) return 1;
  return static_cast<double>(busiest) * static_cast<double>(slots) / static_cast<double>(blocks);
}

bool Comparison::identical() const {
  return batches.empty() && moved.empty() && only[0].empty() && only[1].empty() &&
         renumbered == 0 && splits.empty() && merges.empty() && cost[0].slots == cost[1].slots;
}

Comparison compare(const ComparedPlan& first, const ComparedPlan& second) {
  const DrawnPlan& a = first.plan;
  const DrawnPlan& b = second.plan;
  Comparison c;
  c.batches = batches_differ(a, b);
  c.granularity = a.share.granularity;
  c.overhead = a.share.overhead;
  const std::int64_t block_keys = std::max<std::int64_t>(1, c.granularity * a.page_size);
  c.cost[0] = cost_of(first, c, block_keys);
  c.cost[1] = cost_of(second, c, block_keys);
  match_works(a, b, c);
  compare_splits(a, b, c);
  compare_merges(a, b, c);
  return c;
}

}  // namespace mla::show
