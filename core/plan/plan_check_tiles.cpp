// plan_check, second part: what the pieces of a tile cover, and how they are merged.
#include <algorithm>
#include <map>
#include <set>

#include "core/plan/plan_check.hpp"
#include "core/plan/plan_check_parts.hpp"
#include "core/say.hpp"

namespace mla::plan::check {
namespace {

std::string describe(const Tile& t) {
  return "request " + num(t.request) + ", rows " + num(t.q_begin) + ".." + num(t.q_end);
}

// Keys that some row of the tile may see: bottom-right aligned, the last row of a request sees all.
std::int64_t visible_tokens(const PlanCheckInput& input, const PlanningRequest& r, const Tile& t) {
  if (!knows_seen_keys(input)) return r.tokens;
  return std::clamp<std::int64_t>(seen_keys(input, r, t.q_end - 1), 0, r.tokens);
}

// " on rank 1 of 2, where all ranks together have 12 keys"
std::string of_ranks(const PlanCheckInput& input, const PlanningRequest& r) {
  if (!input.cp_round_robin) return {};
  const char* most = input.dealt.global_kv_indptr.empty() ? "at most " : "";
  return " on rank " + num(input.dealt.rank) + " of " + num(input.dealt.ranks) +
         ", where all ranks together have " + most + num(r.global) + " keys";
}

// The causal limit of a row that sees no key of a piece is negative there, and many kernels compare
// it as an unsigned number: the row sees all of the piece. Of a rank, limit and positions are those
// of all ranks and count from the piece's first round, in which each rank has a key: what is not
// negative hides this rank's key of that round.
void check_hidden_rows(const PlanCheckInput& input, const PlanningRequest& r, const Tile& t,
                       Violations& out) {
  const std::int64_t ranks = input.cp_round_robin ? input.dealt.ranks : 1;
  const std::int64_t rank = input.cp_round_robin ? input.dealt.rank : 0;
  // Rows that see no key at all have no result.
  const std::int64_t first = std::max(t.q_begin, r.q_end - r.global + rank);
  const std::int64_t keys = r.global - (r.q_end - 1 - first);  // of all ranks, that `first` sees
  for (const Piece& p : t.pieces) {
    const std::int64_t begin = (p.item.kv_begin - r.kv_begin) * input.page_size * ranks;
    if (p.item.kv_end <= p.item.kv_begin || begin < keys || first >= t.q_end) continue;
    const std::int64_t last = std::min(t.q_end, first + begin - keys + 1);
    out.push_back({Rule::hidden_rows,
                   check::describe(p) + ": rows " + num(first) + ".." + num(last) +
                       " see none of its keys" + of_ranks(input, r) +
                       ", and AITER's kernels let them see all (BUG-012)",
                   p.index});
  }
}

void check_one_tile(const PlanCheckInput& input, const PlanningRequest& r, const Tile& t,
                    Violations& out) {
  const auto fail = [&](std::int64_t work, const std::string& why) {
    out.push_back({Rule::coverage, describe(t) + ": " + why, work});
  };
  std::int64_t next = r.kv_begin;
  for (const Piece& p : t.pieces) {
    if (p.item.kv_begin > next)
      fail(p.index, "pages " + num(next) + ".." + num(p.item.kv_begin) + " are covered by no work");
    if (p.item.kv_begin < next)
      fail(p.index, check::describe(p) + " covers pages from " + num(p.item.kv_begin) +
                        " that are covered already up to " + num(next));
    next = std::max<std::int64_t>(next, p.item.kv_end);
  }
  if (knows_seen_keys(input)) check_hidden_rows(input, r, t, out);
  const std::int64_t visible = visible_tokens(input, r, t);
  const std::int64_t covered = std::min((next - r.kv_begin) * input.page_size, r.tokens);
  if (covered < visible)
    fail(t.pieces.back().index,
         "keys " + num(covered) + ".." + num(visible) + " of the request are covered by no work");
  if (covered > visible && !input.kernel_masks)
    fail(t.pieces.back().index, "keys " + num(visible) + ".." + num(covered) +
                                    " must be hidden, but the kernel does not mask");
}

struct MergeList {
  std::int64_t entry = 0;
  std::vector<std::int32_t> partial_rows;
};

// The reduce lists with two or more pieces, by their rows; complains about malformed ones.
std::map<std::pair<std::int64_t, std::int64_t>, MergeList> read_lists(const PlanCheckInput& input,
                                                                      Violations& out) {
  std::map<std::pair<std::int64_t, std::int64_t>, MergeList> lists;
  const auto indptr = input.plan.reduce_indptr;
  const auto fail = [&out](Rule rule, std::string what) {
    out.push_back({rule, std::move(what), -1});
  };
  if (indptr.empty() || indptr[0] != 0) fail(Rule::reduce_indptr, "reduce_indptr starts not at 0");
  for (std::size_t i = 0; i + 1 < indptr.size(); ++i) {
    const std::int64_t a = indptr[i];
    const std::int64_t z = indptr[i + 1];
    const auto entry = [i] { return "reduce entry " + num(static_cast<std::int64_t>(i)); };
    if (a < 0 || z < a || z > std::ssize(input.plan.reduce_partial_map)) {
      fail(Rule::reduce_indptr, entry() + " runs from " + check::shown(indptr[i]) + " to " +
                                    check::shown(indptr[i + 1]) + ", reduce_partial_map has " +
                                    num(std::ssize(input.plan.reduce_partial_map)) + " entries");
      return lists;
    }
    if (z - a < 2) continue;  // the reducer skips it
    if (2 * i + 1 >= input.plan.reduce_final_map.size()) {
      fail(Rule::reduce_list, entry() + " lies outside reduce_final_map");
      return lists;
    }
    const std::pair<std::int64_t, std::int64_t> rows{input.plan.reduce_final_map[2 * i],
                                                     input.plan.reduce_final_map[2 * i + 1]};
    const auto map = input.plan.reduce_partial_map.subspan(static_cast<std::size_t>(a),
                                                           static_cast<std::size_t>(z - a));
    if (rows.first == kPoison || rows.second == kPoison) {
      fail(Rule::reduce_list, entry() + " merges " + num(z - a) +
                                  " pieces, and its rows in reduce_final_map were never written");
      continue;
    }
    if (rows.first == rows.second) continue;  // a list for no rows writes nothing
    MergeList list{static_cast<std::int64_t>(i), {map.begin(), map.end()}};
    if (!lists.emplace(rows, list).second)
      fail(Rule::reduce_list, entry() + " merges rows " + num(rows.first) + ".." +
                                  num(rows.second) + " a second time");
  }
  return lists;
}

}  // namespace

void check_coverage(const PlanCheckInput& input, const std::vector<PlanningRequest>& requests,
                    const std::vector<Tile>& tiles, Violations& out) {
  for (const Tile& tile : tiles)
    check_one_tile(input, requests[static_cast<std::size_t>(tile.request)], tile, out);
}

void check_rows(const std::vector<PlanningRequest>& requests, const std::vector<Tile>& tiles,
                Violations& out) {
  std::size_t t = 0;  // tiles are ordered by request, then by first row
  for (std::size_t b = 0; b < requests.size(); ++b) {
    const PlanningRequest& r = requests[b];
    std::int64_t next = r.q_begin;
    const auto fail = [&](const std::string& why) {
      out.push_back(
          {Rule::row_written, "request " + num(static_cast<std::int64_t>(b)) + ": " + why, -1});
    };
    for (; t < tiles.size() && tiles[t].request == static_cast<std::int64_t>(b); ++t) {
      if (tiles[t].q_begin > next && r.tokens > 0)
        fail("no work writes rows " + num(next) + ".." + num(tiles[t].q_begin));
      if (tiles[t].q_begin < next)
        fail("rows " + num(tiles[t].q_begin) + ".." + num(next) + " are written twice");
      next = std::max(next, tiles[t].q_end);
    }
    if (next < r.q_end && r.tokens > 0)
      fail("no work writes rows " + num(next) + ".." + num(r.q_end));
  }
}

void check_partial_rows(const PlanCheckInput& input, const std::vector<Tile>& tiles,
                        Violations& out) {
  const std::int64_t capacity =
      std::ssize(input.plan.reduce_partial_map) * std::max<std::int64_t>(input.max_qo_len, 1);
  std::map<std::int64_t, Piece> slabs;  // by first row
  for (const Tile& tile : tiles)
    for (const Piece& p : tile.pieces) {
      if (p.item.partial_row < 0) continue;
      const auto fail = [&](const std::string& why) {
        out.push_back({Rule::partial_rows, check::describe(p) + ": " + why, p.index});
      };
      const std::int64_t end = p.item.partial_row + (tile.q_end - tile.q_begin);
      if (end > capacity)
        fail("partial rows up to " + num(end) + ", the buffer has " + num(capacity));
      if (const auto [other, fresh] = slabs.emplace(p.item.partial_row, p); !fresh)
        fail("starts at the partial row of work " + num(other->second.index));
    }
  const Piece* before = nullptr;
  for (const auto& [first, p] : slabs) {
    if (before != nullptr) {
      const WorkItem& b = before->item;
      if (std::int64_t{b.partial_row} + b.q_end - b.q_begin > first)
        out.push_back({Rule::partial_rows,
                       check::describe(p) + ": its partial rows from " + num(first) +
                           " overlap those of work " + num(before->index),
                       p.index});
    }
    before = &p;
  }
}

void check_reduce(const PlanCheckInput& input, const std::vector<Tile>& tiles, Violations& out) {
  auto lists = read_lists(input, out);
  for (const Tile& tile : tiles) {
    const auto fail = [&](const std::string& why) {
      out.push_back({Rule::reduce_list, describe(tile) + ": " + why, tile.pieces[0].index});
    };
    const bool split = tile.pieces.size() > 1;
    std::vector<std::int32_t> want;
    for (const Piece& p : tile.pieces) want.push_back(p.item.partial_row);
    const auto direct = std::count(want.begin(), want.end(), -1);
    if (split && direct > 0)
      fail(num(direct) + " of " + num(std::ssize(want)) + " pieces write the final output");
    const auto list = lists.find({tile.q_begin, tile.q_end});
    if (list == lists.end()) {
      if (direct == 0)
        fail(num(std::ssize(want)) + " partial results, but no reduce list of two or more");
      continue;
    }
    if (input.most_pieces >= 0 && std::ssize(want) > input.most_pieces)
      fail(num(std::ssize(want)) + " pieces, and the reduce has room for " +
           num(input.most_pieces));
    if (!split) fail("one piece, yet merged by reduce entry " + num(list->second.entry));
    std::sort(want.begin(), want.end());
    std::sort(list->second.partial_rows.begin(), list->second.partial_rows.end());
    if (split && list->second.partial_rows != want)
      fail("reduce entry " + num(list->second.entry) + " names other partial rows than its " +
           num(std::ssize(want)) + " pieces");
    lists.erase(list);
  }
  for (const auto& [rows, list] : lists)
    out.push_back({Rule::reduce_list,
                   "reduce entry " + num(list.entry) + " merges rows " + num(rows.first) + ".." +
                       num(rows.second) + ", which no work produces",
                   -1});
}

}  // namespace mla::plan::check
