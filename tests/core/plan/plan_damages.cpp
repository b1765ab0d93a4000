#include "tests/core/plan/plan_damages.hpp"

#include <utility>

namespace mla::plan::test {

std::int64_t piece_before(const Place& p) {
  for (std::int64_t w = 0; w < p.plan.works(); ++w) {
    const WorkItem i = p.plan.work(w);
    if (i.batch == p.item.batch && i.q_begin == p.item.q_begin && i.kv_end == p.item.kv_begin &&
        i.kv_end > i.kv_begin)
      return w;
  }
  return -1;
}

namespace {

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

constexpr PlanDamage kTileDamages[] = {
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
       const PlanBuffer& list = p.plan.reduce_partial_map;
       const bool merged = p.plan.reduce_indptr.at(1) >= 2;  // v1.0 lists single pieces as well
       if (!merged || list.at(0) == list.at(1)) return false;
       return p.plan.reduce_partial_map.set(0, list.at(1)), true;
     }},
};

// What every kernel takes; no rule is broken.
constexpr PlanDamage kLegalChanges[] = {
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

}  // namespace

std::span<const PlanDamage> tile_damages() {
  return kTileDamages;
}

std::span<const PlanDamage> legal_changes() {
  return kLegalChanges;
}

}  // namespace mla::plan::test
