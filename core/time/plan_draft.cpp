#include "core/time/plan_draft.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "core/plan/in_order.hpp"
#include "core/plan/plan_check.hpp"
#include "core/units.hpp"

namespace mla::timing {
namespace {

// Blocks of a slot and of a tile, so that a search stays fast and still cuts finely enough.
constexpr std::int64_t kMostSlotBlocks = 4096;
constexpr std::int64_t kMostTileBlocks = 65536;

// The works of the plan that have rows and keys, those of a tile together.
std::vector<plan::WorkItem> works_by_tile(const plan::PlanView& plan) {
  std::vector<plan::WorkItem> works;
  for (std::int64_t w = 0; w < plan.work_indptr.back(); ++w) {
    const plan::WorkItem item = plan.work(w);
    if (item.q_end > item.q_begin && item.kv_end > item.kv_begin) works.push_back(item);
  }
  std::ranges::sort(works, {}, [](const plan::WorkItem& w) {
    return std::tuple(w.batch, w.q_begin, w.kv_begin);
  });
  return works;
}

bool same_tile(const plan::WorkItem& a, const plan::WorkItem& b) {
  return a.batch == b.batch && a.q_begin == b.q_begin;
}

// Pages of the tile before which a piece may begin: its first row that sees a key must see one of
// each piece (plan_check's rule hidden_rows). Without a mask as well, since many kernels have one
// all the same.
std::int64_t pages_to_cut(const plan::PlanCheckInput& in, const plan::PlanningRequest& r,
                          const plan::WorkItem& tile) {
  const std::int64_t pages = std::int64_t{tile.kv_end} - tile.kv_begin;
  const std::int64_t first = std::max<std::int64_t>(tile.q_begin, r.q_end - r.tokens);
  const std::int64_t seen = r.tokens - (r.q_end - 1 - first);
  return std::clamp<std::int64_t>(ceil_div(seen, in.page_size), 1, pages);
}

// Tokens of the request after a page.
std::int64_t tokens_after(const plan::PlanningRequest& r, std::int64_t page_size,
                          std::int64_t page) {
  return r.tokens - std::min((page - r.kv_begin) * page_size, r.tokens);
}

// Doubled while a search would have too many to choose from.
std::int64_t coarse_block(const std::vector<DraftTile>& tiles,
                          const std::vector<std::int64_t>& pages, std::int64_t slots,
                          std::int64_t block) {
  std::int64_t longest = 0;
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    longest = std::max(longest, pages[t]);
    sum += pages[t];
  }
  while (longest / block > kMostTileBlocks || sum / (slots * block) > kMostSlotBlocks) block *= 2;
  return block;
}

}  // namespace

DraftTiles draft_tiles(const PlannedStep& step, std::int64_t tile_keys) {
  const plan::PlanCheckInput& in = step.check;
  const auto requests = plan::planning_requests(in);
  DraftTiles out{.tiles = {},
                 // No more workgroups run at once.
                 .slots = std::min(std::ssize(in.plan.work_indptr) - 1, step.units.count()),
                 .most_works = std::ssize(in.plan.work_info) / plan::kWorkItemWords,
                 .most_merged = std::ssize(in.plan.reduce_partial_map)};
  out.most_pieces = out.slots;
  if (in.most_pieces >= 0)
    out.most_pieces = std::clamp<std::int64_t>(in.most_pieces, 1, out.most_pieces);
  out.heads = in.shape.plan_heads.count();
  std::vector<std::int64_t> pages;  // of each tile, before which a piece may begin
  const std::vector<plan::WorkItem> works = works_by_tile(in.plan);
  for (const plan::WorkItem& work : works) {
    if (!out.tiles.empty() && same_tile(out.tiles.back().whole, work)) {
      out.tiles.back().whole.kv_end = work.kv_end;
      continue;
    }
    out.tiles.push_back({.whole = work});
  }
  for (DraftTile& tile : out.tiles) {
    const auto& r = requests[static_cast<std::size_t>(tile.whole.batch)];
    tile.whole.partial_row = -1;
    tile.whole.kv_offset =
        static_cast<std::int32_t>(tokens_after(r, in.page_size, tile.whole.kv_end));
    tile.slab_rows = tile.rows();
    out.tile_rows = std::max(out.tile_rows, tile.rows() * out.heads);
    pages.push_back(pages_to_cut(in, r, tile.whole));
  }
  // All tiles of a request take as many partial rows as its largest, as the planners count.
  for (std::size_t t = 1; t < out.tiles.size(); ++t)
    if (out.tiles[t].whole.batch == out.tiles[t - 1].whole.batch)
      out.tiles[t].slab_rows = std::max(out.tiles[t].slab_rows, out.tiles[t - 1].slab_rows);
  out.block_pages = coarse_block(out.tiles, pages, out.slots,
                                 std::max(step.granularity, ceil_div(tile_keys, in.page_size)));
  out.block_keys = out.block_pages * in.page_size;
  for (std::size_t t = 0; t < out.tiles.size(); ++t) {
    DraftTile& tile = out.tiles[t];
    tile.blocks = ceil_div(pages[t], out.block_pages);
    const std::int64_t all = std::int64_t{tile.whole.kv_end} - tile.whole.kv_begin;
    tile.last_keys = (all - (tile.blocks - 1) * out.block_pages) * in.page_size;
  }
  return out;
}

namespace {

// Writes the works of a plan, slot by slot, and what is merged.
class Writer {
 public:
  Writer(const PlannedStep& step, const DraftTiles& tiles, const Draft& draft)
      : in_(step.check),
        tiles_(tiles),
        requests_(plan::planning_requests(step.check)),
        pieces_(by_tile(tiles, draft)) {}

  plan::Plan write() {
    plan::Plan plan(sizes());
    place_partials(plan);
    write_slots(plan);
    return plan;
  }

 private:
  struct Placed {
    std::int32_t slot = 0;
    std::int64_t place = 0;  // by tile, then by keys
    plan::WorkItem item;
  };
  static std::vector<std::vector<DraftPiece>> by_tile(const DraftTiles& tiles, const Draft& draft) {
    std::vector<std::vector<DraftPiece>> out(tiles.tiles.size());
    for (const DraftPiece& p : draft) out[static_cast<std::size_t>(p.tile)].push_back(p);
    return out;
  }
  [[nodiscard]] plan::BufferSizes sizes() const {
    return {.work_indptr = std::ssize(in_.plan.work_indptr),
            .work_items = tiles_.most_works,
            .reduce_indptr = std::ssize(in_.plan.reduce_indptr),
            .reduce_final_rows = std::ssize(in_.plan.reduce_final_map) / 2,
            .reduce_partial_map = tiles_.most_merged};
  }

  // An entry of the reduce for each tile, empty where it is not cut, as the planners do.
  void place_partials(plan::Plan& plan) {
    plan::InOrder indptr(plan.reduce_indptr);
    plan::InOrder map(plan.reduce_partial_map);
    std::int64_t rows = 0;
    std::int64_t merged = 0;
    indptr.add(0);
    for (std::size_t t = 0; t < pieces_.size(); ++t) {
      const DraftTile& tile = tiles_.tiles[t];
      const bool cut = pieces_[t].size() > 1;
      std::int64_t page = tile.whole.kv_begin;
      for (std::size_t p = 0; p < pieces_[t].size(); ++p) {
        const bool last = p + 1 == pieces_[t].size();
        plan::WorkItem item = tile.whole;
        item.kv_begin = static_cast<std::int32_t>(page);
        page += pieces_[t][p].blocks * tiles_.block_pages;
        if (!last) item.kv_end = static_cast<std::int32_t>(page);
        item.kv_offset = static_cast<std::int32_t>(tokens_after(
            requests_[static_cast<std::size_t>(item.batch)], in_.page_size, item.kv_end));
        if (cut) {
          item.partial_row = static_cast<std::int32_t>(rows);
          map.add(rows);
          rows += tile.slab_rows;
          ++merged;
        }
        placed_.push_back({pieces_[t][p].slot, std::ssize(placed_), item});
      }
      if (cut) {
        const std::array ends = {tile.whole.q_begin, tile.whole.q_end};
        plan.reduce_final_map.write(2 * static_cast<std::int64_t>(t), std::span(ends));
      }
      indptr.add(merged);
    }
    indptr.fill(merged);
  }

  void write_slots(plan::Plan& plan) {
    std::ranges::sort(placed_, {}, [](const Placed& p) { return std::pair(p.slot, p.place); });
    plan::InOrder indptr(plan.work_indptr);
    plan::InOrder works(plan.work_info);
    indptr.add(0);
    std::size_t next = 0;
    for (std::int64_t slot = 0; slot < tiles_.slots; ++slot) {
      for (; next < placed_.size() && placed_[next].slot == slot; ++next)
        works.add(placed_[next].item);
      indptr.add(static_cast<std::int64_t>(next));
    }
    indptr.fill(static_cast<std::int64_t>(next));
  }

  const plan::PlanCheckInput& in_;
  const DraftTiles& tiles_;
  std::vector<plan::PlanningRequest> requests_;
  std::vector<std::vector<DraftPiece>> pieces_;
  std::vector<Placed> placed_;
};

}  // namespace

plan::Plan plan_of(const PlannedStep& step, const DraftTiles& tiles, const Draft& draft) {
  return Writer(step, tiles, draft).write();
}

}  // namespace mla::timing
