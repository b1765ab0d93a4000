#include "properties/claims/p39_damage_found/rule_damages.hpp"

#include <algorithm>
#include <utility>

#include "core/engine/decode_builder.hpp"
#include "core/plan/plan_check.hpp"
#include "core/plan/tile_straddle.hpp"
#include "core/say.hpp"
#include "properties/claims/p39_damage_found/record_damages.hpp"

namespace mla::prop {
namespace {

using plan::Plan;
using plan::PlanCheckInput;
using plan::PlanningRequest;
using plan::Rule;
using plan::WorkItem;
using Sentence = std::optional<std::string>;

// The work with these pages before this one's, in the same tile; -1: none.
std::int64_t piece_before(const Place& p) {
  for (std::int64_t w = 0; w < p.plan.works(); ++w) {
    const WorkItem i = p.plan.work(w);
    if (i.batch == p.item.batch && i.q_begin == p.item.q_begin && i.kv_end == p.item.kv_begin &&
        i.kv_end > i.kv_begin)
      return w;
  }
  return -1;
}

// Leaves the last piece of the last tile as many keys as `short_of` less than the tile has rows.
bool cut_last_piece(Place& p, std::int64_t short_of) {
  const std::int64_t keys = p.rows() - short_of;
  const bool whole = p.item.q_begin == p.request.q_begin;  // one tile, whose first row sees a key
  if (!p.input.causal || p.input.page_size != 1 || !p.last_tile() || !p.last_piece() || !whole ||
      keys < 1 || p.request.tokens < p.rows() + 1)
    return false;
  const std::int64_t before = piece_before(p);
  if (before < 0) return false;
  WorkItem first = p.plan.work(before);
  WorkItem last = p.item;
  last.kv_begin = first.kv_end = static_cast<std::int32_t>(p.request.kv_end - keys);
  if (first.kv_end <= first.kv_begin) return false;
  const Place other{p.plan, p.input, before, first, p.request};
  other.store(first);
  p.store(last);
  return true;
}

// Pieces of the tile that this work belongs to.
std::int64_t pieces_of_tile(const Place& p) {
  std::int64_t pieces = 0;
  for (std::int64_t w = 0; w < p.plan.works(); ++w) {
    const WorkItem i = p.plan.work(w);
    pieces += i.batch == p.item.batch && i.q_begin == p.item.q_begin ? 1 : 0;
  }
  return pieces;
}

constexpr RuleDamage kRuleDamages[] = {
    {"a piece that ends a page early", Rule::coverage,
     [](Place& p) {
       if (!p.last_tile() || p.item.kv_end - p.item.kv_begin < 2) return false;
       WorkItem i = p.item;
       --i.kv_end;
       return p.store(i), true;
     }},
    {"a piece that ends a page late", Rule::coverage,
     [](Place& p) {
       if (!p.last_tile() || p.last_piece()) return false;
       WorkItem i = p.item;
       ++i.kv_end;
       return p.store(i), true;
     }},
    {"a last piece with a key less than the tile has rows", Rule::hidden_rows,
     [](Place& p) { return cut_last_piece(p, 1); }},
    {"rows that no work writes", Rule::row_written,
     [](Place& p) {
       if (p.item.partial_row >= 0 || p.request.tokens == 0 || p.rows() < 1 || !p.last_of_slot())
         return false;
       WorkItem i = p.item;
       i.q_end = i.q_begin;
       return p.plan.set_work(p.work, i), true;
     }},
    {"a row that two tiles write", Rule::row_written,
     [](Place& p) {
       if (p.item.q_begin <= p.request.q_begin || p.item.partial_row >= 0) return false;
       WorkItem i = p.item;
       --i.q_begin;
       return p.plan.set_work(p.work, i), true;
     }},
    {"an empty work before others of its slot", Rule::empty_work,
     [](Place& p) {
       if (p.last_of_slot() || p.rows() < 1) return false;
       WorkItem i = p.item;
       i.kv_end = i.kv_begin;
       return p.plan.set_work(p.work, i), true;
     }},
    {"an empty work that is merged", Rule::empty_work,
     [](Place& p) {
       if (p.item.partial_row < 0 || p.rows() < 1) return false;
       WorkItem i = p.item;
       i.kv_end = i.kv_begin;
       return p.plan.set_work(p.work, i), true;
     }},
    {"partial rows that overlap the next ones", Rule::partial_rows,
     [](Place& p) {
       const std::int64_t next = p.item.partial_row + p.rows();
       if (p.item.partial_row < 0 || p.rows() < 1) return false;
       bool followed = false;
       for (std::int64_t w = 0; w < p.plan.works(); ++w)
         followed = followed || (p.plan.work(w).partial_row == next &&
                                 p.plan.work(w).q_end > p.plan.work(w).q_begin);
       return followed && p.move_partials(p.item.partial_row + 1);
     }},
    {"partial rows past the end of the buffer", Rule::partial_rows,
     [](Place& p) {
       if (p.item.partial_row < 0 || p.rows() < 1) return false;
       const std::int64_t room = p.plan.reduce_partial_map.size() * p.input.max_qo_len;
       return p.move_partials(static_cast<std::int32_t>(room - p.rows() + 1));
     }},
    {"more rows than a workgroup holds", Rule::work_record,
     [](Place& p) {
       if (p.rows() < 2) return false;
       p.input.shape.query_split = true;
       p.input.shape.rows_per_workgroup = p.input.shape.plan_heads.count();
       return p.input.shape.tile_rows(p.request.q_end - p.request.q_begin) < p.rows();
     }},
    {"a part of a request that is one tile", Rule::work_record,
     [](Place& p) {
       const std::int64_t rows = p.request.q_end - p.request.q_begin;
       if (p.input.shape.tiles(rows) != 1 || p.rows() < 2) return false;
       WorkItem i = p.item;
       --i.q_end;
       return p.plan.set_work(p.work, i), true;
     }},
    {"more pieces than the reduce has room for", Rule::reduce_list,
     [](Place& p) {
       if (p.item.partial_row < 0) return false;
       return p.input.most_pieces = pieces_of_tile(p) - 1, p.input.most_pieces > 0;
     }},
    {"a merge that names a piece twice", Rule::reduce_list,
     [](Place& p) {
       const plan::PlanBuffer& list = p.plan.reduce_partial_map;
       const bool merged = p.plan.reduce_indptr.at(1) >= 2;  // v1.0 lists single pieces as well
       if (!merged || list.at(0) == list.at(1)) return false;
       return p.plan.reduce_partial_map.set(0, list.at(1)), true;
     }},
};

// What every kernel takes; no rule is broken.
constexpr RuleDamage kLegalPlans[] = {
    {"a last piece with as many keys as the tile has rows", Rule::hidden_rows,
     [](Place& p) { return cut_last_piece(p, 0); }},
    {"as many pieces as the reduce has room for", Rule::reduce_list,
     [](Place& p) {
       p.input.most_pieces = 1;
       for (std::int64_t w = 0; w < p.plan.works(); ++w) {
         const Place other{p.plan, p.input, w, p.plan.work(w), p.request};
         p.input.most_pieces = std::max(p.input.most_pieces, pieces_of_tile(other));
       }
       return true;
     }},
    {"two pieces of a tile that exchange their partial rows", Rule::reduce_list,
     [](Place& p) {
       const std::int64_t before = piece_before(p);
       if (before < 0 || p.item.partial_row < 0) return false;
       WorkItem one = p.item;
       WorkItem other = p.plan.work(before);
       std::swap(one.partial_row, other.partial_row);
       p.plan.set_work(p.work, one);
       p.plan.set_work(before, other);
       return true;
     }},
};

// A work at which the damage has a place, and what plan_check says then.
template <class Judge>
Sentence at_first_place(const DecodeMetadata& md, const RuleDamage& damage, std::int64_t from,
                        const Judge& judge) {
  const auto requests = plan::planning_requests(check_input_of(md));
  const std::int64_t works = md.plan->works();
  Plan plan = md.plan->clone();
  // A place is near, or there is none: a large plan is not searched whole.
  constexpr std::int64_t kMostTried = 64;
  for (std::int64_t n = 0; n < std::min(works, kMostTried); ++n) {
    const std::int64_t work = (from + n) % works;
    PlanCheckInput input = check_input_of(md);
    input.plan = plan.view();
    const WorkItem item = plan.work(work);
    Place place{plan, input, work, item, requests[static_cast<std::size_t>(item.batch)]};
    if (!damage.apply(place)) continue;
    return judge(plan::plan_check(input), say(damage.what, " (work ", work, ")"));
  }
  return std::nullopt;
}

// The works of AITER-27 (tile_straddle.hpp), row by row: of three or more tiles, whose last one
// some rows see and others do not.
std::vector<std::int64_t> straddled_by_rows(const PlanCheckInput& input, std::int64_t works,
                                            const Plan& plan) {
  std::vector<std::int64_t> out;
  const auto requests = plan::planning_requests(input);
  for (std::int64_t w = 0; w < works; ++w) {
    const WorkItem i = plan.work(w);
    const PlanningRequest& r = requests[static_cast<std::size_t>(i.batch)];
    const std::int64_t begin = (i.kv_begin - r.kv_begin) * input.page_size;
    const std::int64_t end = std::min((i.kv_end - r.kv_begin) * input.page_size, r.tokens);
    std::int64_t tiles = 0;
    std::int64_t last_tile = begin;
    for (std::int64_t key = begin; key < end; key += plan::kStraddledTile) {
      last_tile = key;
      ++tiles;
    }
    bool before = false;
    bool inside = false;
    for (std::int64_t row = i.q_begin; row < i.q_end; ++row) {
      const std::int64_t sees = r.tokens - (r.q_end - 1 - row);
      before = before || sees < last_tile;
      inside = inside || sees > last_tile;
    }
    if (tiles > 2 && before && inside) out.push_back(w);
  }
  return out;
}

std::optional<std::string> straddled_works_differ(const DecodeMetadata& md) {
  const PlanCheckInput input = check_input_of(md);
  if (!input.causal) return std::nullopt;
  std::vector<std::int64_t> named;
  for (const plan::StraddledWork& work : plan::straddled_works(input)) named.push_back(work.index);
  const std::vector<std::int64_t> found = straddled_by_rows(input, md.plan->works(), *md.plan);
  if (named == found) return std::nullopt;
  return say("rows of ", found.size(), " works end on both sides of their last tile of ",
             plan::kStraddledTile, " keys (AITER-27), and ", named.size(), " works are named");
}

// The first damage of which plan_check does not name the rule.
Sentence damage_overlooked(const DecodeMetadata& metadata, std::int64_t from,
                           std::span<const RuleDamage> damages) {
  for (const RuleDamage& damage : damages) {
    const auto named = [&](const std::vector<plan::Violation>& found,
                           const std::string& what) -> Sentence {
      if (std::ranges::any_of(found, [&](const auto& v) { return v.rule == damage.rule; }))
        return std::nullopt;
      return say("a plan with ", what, " does not break the rule ", name(damage.rule),
                 " for plan_check");
    };
    if (auto why = at_first_place(metadata, damage, from, named)) return why;
  }
  return std::nullopt;
}

// The first legal change after which plan_check takes the plan for broken.
Sentence legal_change_named(const DecodeMetadata& metadata, std::int64_t from,
                            std::span<const RuleDamage> changes) {
  for (const RuleDamage& change : changes) {
    const auto taken = [](const std::vector<plan::Violation>& found,
                          const std::string& what) -> Sentence {
      if (found.empty()) return std::nullopt;
      return say("a plan with ", what, " is not valid for plan_check: ", found.front().what);
    };
    if (auto why = at_first_place(metadata, change, from, taken)) return why;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> rule_overlooked(const DecodeMetadata& metadata, std::int64_t from) {
  if (!plan::plan_check(check_input_of(metadata)).empty()) return std::nullopt;
  if (auto why = straddled_works_differ(metadata)) return why;
  if (auto why = damage_overlooked(metadata, from, kRuleDamages)) return why;
  if (auto why = damage_overlooked(metadata, from, record_damages())) return why;
  if (auto why = second_bad_work_unnamed(metadata, from)) return why;
  if (auto why = legal_change_named(metadata, from, kLegalPlans)) return why;
  return legal_change_named(metadata, from, legal_empty_works());
}

}  // namespace mla::prop
