#include "tests/properties/c_api/recut.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace mla::test {
namespace {

using plan::WorkItem;

// The tiles of a plan as works that are not cut, by their rows.
std::vector<WorkItem> tiles_of(const plan::Plan& plan) {
  std::map<std::tuple<std::int32_t, std::int32_t>, WorkItem> tiles;
  for (std::int64_t w = 0; w < plan.works(); ++w) {
    const WorkItem work = plan.work(w);
    const auto [at, fresh] = tiles.try_emplace({work.q_begin, work.batch}, work);
    WorkItem& tile = at->second;
    tile.partial_row = -1;
    if (fresh) continue;
    tile.kv_begin = std::min(tile.kv_begin, work.kv_begin);
    if (work.kv_end > tile.kv_end) tile.kv_end = work.kv_end, tile.kv_offset = work.kv_offset;
  }
  std::vector<WorkItem> out;
  for (const auto& [key, tile] : tiles) out.push_back(tile);
  return out;
}

// Pages where pieces begin. One in two lies among the last of the tile.
std::vector<std::int32_t> cuts_of(const WorkItem& tile, prop::Random& random, bool all) {
  const std::int32_t pages = tile.kv_end - tile.kv_begin;
  std::set<std::int32_t> inner;
  const std::int64_t wanted = pages < 2 ? 0 : random.between(all ? 1 : 0, 4);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::int64_t back = random.below(2) == 0 ? random.between(1, std::min(pages - 1, 6))
                                                   : random.between(1, pages - 1);
    inner.insert(static_cast<std::int32_t>(tile.kv_end - back));
  }
  std::vector<std::int32_t> out{tile.kv_begin};
  out.insert(out.end(), inner.begin(), inner.end());
  out.push_back(tile.kv_end);
  return out;
}

// Tokens of the work's request after page `end` of the batch.
std::int32_t tokens_after(const DecodeMetadata& md, const WorkItem& work, std::int32_t end) {
  const auto request = static_cast<std::size_t>(work.batch / md.shape.fold_ratio());
  const std::int64_t seen = (end - md.kv_indptr[request]) * md.shape.page_size;
  return static_cast<std::int32_t>(std::max<std::int64_t>(md.kv_lens[request] - seen, 0));
}

struct Lists {
  std::vector<WorkItem> works;
  std::vector<std::int32_t> reduce_indptr{0}, final_map, partial_map;
};

plan::Plan plan_of(const Lists& lists, std::int64_t slots, prop::Random& random) {
  const auto works = std::ssize(lists.works);
  plan::Plan plan({.work_indptr = slots + 1,
                   .work_items = std::max<std::int64_t>(works, 1),
                   .reduce_indptr = std::ssize(lists.reduce_indptr),
                   .reduce_final_rows = std::ssize(lists.final_map) / 2,
                   .reduce_partial_map = std::ssize(lists.partial_map)});
  std::vector<std::int32_t> ends(static_cast<std::size_t>(slots), static_cast<std::int32_t>(works));
  for (std::size_t s = 0; s + 1 < ends.size(); ++s)
    ends[s] = static_cast<std::int32_t>(random.between(0, works));
  std::sort(ends.begin(), ends.end());
  plan.work_indptr.set(0, 0);
  for (std::int64_t s = 0; s < slots; ++s)
    plan.work_indptr.set(s + 1, ends[static_cast<std::size_t>(s)]);
  for (std::int64_t w = 0; w < works; ++w)
    plan.set_work(w, lists.works[static_cast<std::size_t>(w)]);
  const auto fill = [](plan::PlanBuffer& to, const std::vector<std::int32_t>& words) {
    to.write(0, std::span<const std::int32_t>(words));
  };
  fill(plan.reduce_indptr, lists.reduce_indptr);
  fill(plan.reduce_final_map, lists.final_map);
  fill(plan.reduce_partial_map, lists.partial_map);
  return plan;
}

}  // namespace

Recut recut(const DecodeMetadata& md, prop::Random& random, bool all) {
  Lists lists;
  std::int64_t keyless = 0;
  std::int32_t partial = 0;
  for (const WorkItem& tile : tiles_of(*md.plan)) {
    const auto cuts = cuts_of(tile, random, all);
    const std::int32_t rows = tile.q_end - tile.q_begin;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      WorkItem piece = tile;
      piece.kv_begin = cuts[i];
      piece.kv_end = cuts[i + 1];
      piece.kv_offset = tokens_after(md, tile, piece.kv_end);
      if (cuts.size() > 2) {
        piece.partial_row = partial;
        lists.partial_map.push_back(partial);
        partial += rows;
        const std::int64_t behind = tokens_after(md, tile, piece.kv_begin);
        if (md.shape.causal && behind < md.shape.max_qo_len) ++keyless;
      }
      lists.works.push_back(piece);
    }
    if (cuts.size() == 2) continue;
    lists.reduce_indptr.push_back(static_cast<std::int32_t>(lists.partial_map.size()));
    lists.final_map.insert(lists.final_map.end(), {tile.q_begin, tile.q_end});
  }
  return {plan_of(lists, random.between(1, 6), random), partial, keyless};
}

bool needs_no_map(const plan::Plan& plan) {
  const std::int64_t tiles = plan.reduce_indptr.size() - 1;
  if (tiles < 1) return false;
  const auto& map = plan.reduce_final_map;
  const std::int32_t rows = map.at(1) - map.at(0);
  for (std::int64_t t = 0; t < tiles; ++t) {
    const std::int64_t first = plan.reduce_indptr.at(t);
    if (map.at(2 * t) != t * rows || map.at(2 * t + 1) != (t + 1) * rows) return false;
    if (plan.reduce_partial_map.at(first + 1) - plan.reduce_partial_map.at(first) != rows)
      return false;
  }
  return true;
}

}  // namespace mla::test
