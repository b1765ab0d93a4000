#include "core/plan/plan_check.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "core/paging/pages.hpp"
#include "core/plan/plan_check_parts.hpp"
#include "core/say.hpp"
#include "core/units.hpp"

namespace mla::plan {
namespace check {

std::string shown(std::int64_t n) {
  return n == kPoison ? "unwritten" : num(n);
}

std::string describe(const Piece& p) {
  return "work " + num(p.index) + " [request " + shown(p.item.batch) + ", rows " +
         shown(p.item.q_begin) + ".." + shown(p.item.q_end) + ", pages " + shown(p.item.kv_begin) +
         ".." + shown(p.item.kv_end) + "]";
}

std::int64_t check_work_indptr(const PlanCheckInput& input, Violations& out) {
  const auto indptr = input.plan.work_indptr;
  const auto fail = [&out](std::string what) {
    out.push_back({Rule::work_indptr, std::move(what), -1});
  };
  if (indptr.size() < 2) fail("work_indptr has " + num(std::ssize(indptr)) + " entries");
  if (!indptr.empty() && indptr[0] != 0) fail("work_indptr starts at " + shown(indptr[0]));
  const auto fall = std::is_sorted_until(indptr.begin(), indptr.end());
  if (fall != indptr.end())
    fail("work_indptr runs backwards at slot " + num(fall - indptr.begin() - 1) + ": " +
         shown(*(fall - 1)) + " to " + shown(*fall));
  const std::int64_t records = std::ssize(input.plan.work_info) / kWorkItemWords;
  if (!indptr.empty() && indptr.back() > records)
    fail("work_indptr ends at " + num(indptr.back()) + ", work_info_set has " + num(records) +
         " records");
  return out.empty() ? indptr.back() : 0;
}

namespace {

template <class Fail>
void check_tile_rows(const PlanCheckInput& input, const PlanningRequest& r, const WorkItem& i,
                     const Fail& fail) {
  const std::int64_t rows = r.q_end - r.q_begin;
  const std::int64_t own = std::int64_t{i.q_end} - i.q_begin;
  // Tiles of v1.2 are even, those of v1.1 full; 24 heads of v1.2 may exceed a workgroup by a row.
  const std::int64_t fits =
      std::max({input.shape.tile_rows(rows),
                input.shape.rows_per_workgroup / input.shape.plan_heads.count(), std::int64_t{1}});
  if (input.shape.query_split && own > fits)
    fail("a workgroup takes " + num(fits) + " rows of " + num(input.shape.plan_heads.count()) +
         " heads");
  // Kernels for one tile count the causal limit of a row from the work's last row.
  if (input.shape.tiles(rows) == 1 && own > 0 && own < rows)
    fail("its request has " + num(rows) + " rows, which a kernel takes as one tile");
}

}  // namespace

void check_query_lengths(const PlanCheckInput& input, Violations& out) {
  for (std::size_t b = 0; b + 1 < input.qo_indptr.size(); ++b) {
    const std::int64_t rows = std::int64_t{input.qo_indptr[b + 1]} - input.qo_indptr[b];
    if (rows > input.max_qo_len)
      out.push_back({Rule::max_qo_len,
                     "request " + num(static_cast<std::int64_t>(b)) + " has " + num(rows) +
                         " query rows, but max_seqlen_qo is " + num(input.max_qo_len),
                     -1});
  }
}

std::vector<Piece> check_records(const PlanCheckInput& input,
                                 const std::vector<PlanningRequest>& requests, std::int64_t works,
                                 Violations& out) {
  std::vector<Piece> sound;
  for (std::int64_t w = 0; w < works; ++w) {
    const Piece p{input.plan.work(w), w};
    const WorkItem& i = p.item;
    const auto fail = [&](const std::string& why) {
      out.push_back({Rule::work_record, describe(p) + ": " + why, w});
    };
    if (i.batch < 0 || i.batch >= std::ssize(requests)) {
      fail("the batch has " + num(std::ssize(requests)) + " planning requests");
      continue;
    }
    const PlanningRequest& r = requests[static_cast<std::size_t>(i.batch)];
    const std::size_t before = out.size();
    if (i.q_end < i.q_begin || i.q_begin < r.q_begin || i.q_end > r.q_end)
      fail("its request owns rows " + num(r.q_begin) + ".." + num(r.q_end));
    // AITER's planners trim each tile to the mask, which ends the first of padding before it
    // begins.
    if (r.kv_begin == r.kv_end && i.kv_begin == r.kv_begin && i.kv_end < i.kv_begin)
      fail(
          "its request has no keys, and it ends before it begins: kernels read outside of the "
          "cache");
    else if (i.kv_end < i.kv_begin || i.kv_begin < r.kv_begin || i.kv_end > r.kv_end)
      fail("its request owns pages " + num(r.kv_begin) + ".." + num(r.kv_end));
    check_tile_rows(input, r, i, fail);
    if (i.partial_row < -1) fail("partial row " + num(i.partial_row));
    if (out.size() != before) continue;
    // Tokens of the request that lie after kv_end.
    const std::int64_t end = std::min((i.kv_end - r.kv_begin) * input.page_size, r.tokens);
    if (i.kv_end > i.kv_begin && i.kv_offset != r.tokens - end)
      fail("kv_offset " + num(i.kv_offset) + ", but " + num(r.tokens - end) +
           " keys of the request follow");
    sound.push_back(p);
  }
  return sound;
}

void check_empty_works(const PlanCheckInput& input, Violations& out) {
  const auto indptr = input.plan.work_indptr;
  const auto empty = [](const WorkItem& i) {
    return i.kv_end <= i.kv_begin || i.q_end <= i.q_begin;
  };
  for (std::size_t c = 0; c + 1 < indptr.size(); ++c) {
    std::int64_t lost = 0;  // works after the one at hand that have keys to attend to
    for (std::int64_t w = indptr[c]; w < indptr[c + 1]; ++w)
      lost += empty(input.plan.work(w)) ? 0 : 1;
    for (std::int64_t w = indptr[c]; w < indptr[c + 1]; ++w) {
      const Piece p{input.plan.work(w), w};
      if (!empty(p.item)) {
        --lost;
        continue;
      }
      if (p.item.q_end > p.item.q_begin && p.item.partial_row >= 0)
        out.push_back({Rule::empty_work,
                       describe(p) + " is empty: a kernel never writes its partial rows, which are "
                                     "merged",
                       w});
      if (lost > 0)
        out.push_back({Rule::empty_work,
                       describe(p) + " is empty: a kernel ends slot " +
                           num(static_cast<std::int64_t>(c)) + " there and never runs the " +
                           (lost == 1 ? "work" : num(lost) + " works") + " after it",
                       w});
    }
  }
}

std::vector<Tile> group_tiles(const std::vector<Piece>& pieces) {
  std::map<std::array<std::int64_t, 3>, Tile> tiles;
  for (const Piece& p : pieces) {
    if (p.item.q_end <= p.item.q_begin) continue;
    Tile& tile = tiles[{p.item.batch, p.item.q_begin, p.item.q_end}];
    tile.request = p.item.batch;
    tile.q_begin = p.item.q_begin;
    tile.q_end = p.item.q_end;
    tile.pieces.push_back(p);
  }
  std::vector<Tile> out;
  for (auto& [key, tile] : tiles) {
    std::sort(tile.pieces.begin(), tile.pieces.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.item.kv_begin, a.index) < std::pair(b.item.kv_begin, b.index);
    });
    out.push_back(std::move(tile));
  }
  return out;
}

}  // namespace check

std::string_view name(Rule rule) {
  switch (rule) {
    case Rule::work_indptr:
      return "work_indptr";
    case Rule::max_qo_len:
      return "max_qo_len";
    case Rule::work_record:
      return "work_record";
    case Rule::empty_work:
      return "empty_work";
    case Rule::coverage:
      return "coverage";
    case Rule::hidden_rows:
      return "hidden_rows";
    case Rule::row_written:
      return "row_written";
    case Rule::partial_rows:
      return "partial_rows";
    case Rule::reduce_list:
      return "reduce_list";
    case Rule::reduce_indptr:
      return "reduce_indptr";
  }
  return {};
}

namespace {

// Keys of request b over all ranks.
std::int64_t global_keys(const PlanCheckInput& input, std::size_t b, std::int64_t tokens) {
  if (!input.cp_round_robin || input.dealt.ranks < 1) return tokens;
  const auto list = input.dealt.global_kv_indptr;
  if (b + 1 < list.size()) return std::int64_t{list[b + 1]} - list[b];
  return tokens * input.dealt.ranks + input.dealt.rank;
}

}  // namespace

std::vector<std::int32_t> fewest_global_kv(std::span<const std::int32_t> kv_indptr,
                                           std::int64_t ranks, std::int64_t rank) {
  std::vector<std::int32_t> out{0};
  for (std::size_t b = 0; b + 1 < kv_indptr.size(); ++b) {
    const std::int64_t local = std::int64_t{kv_indptr[b + 1]} - kv_indptr[b];
    const std::int64_t global = local > 0 ? (local - 1) * ranks + rank + 1 : 0;
    out.push_back(static_cast<std::int32_t>(out.back() + global));
  }
  return out;
}

// Folded request b*ratio + g has the rows (b*ratio + g)*q .. + q: folding needs equal row counts.
std::vector<PlanningRequest> planning_requests(const PlanCheckInput& input) {
  std::vector<PlanningRequest> out;
  const std::int64_t ratio = input.shape.fold_ratio;
  for (std::size_t b = 0; b + 1 < input.qo_indptr.size(); ++b) {
    const std::int64_t q = input.qo_indptr[b + 1] - input.qo_indptr[b];
    const std::int64_t pages = input.kv_indptr[b + 1] - input.kv_indptr[b];
    const std::int64_t tokens = keys_in_pages(pages, input.page_size, input.last_page_len[b]);
    const std::int64_t global = global_keys(input, b, tokens);
    for (std::int64_t g = 0; g < ratio; ++g) {
      const std::int64_t first = input.qo_indptr[b] * ratio + g * q;
      out.push_back({first, first + q, input.kv_indptr[b], input.kv_indptr[b + 1], tokens, global});
    }
  }
  return out;
}

std::int64_t work_keys(const PlanCheckInput& input, const WorkItem& work) {
  const auto b = static_cast<std::size_t>(work.batch / input.shape.fold_ratio);
  const std::int64_t pages = std::int64_t{work.kv_end} - work.kv_begin;
  if (pages <= 0 || work.kv_end != input.kv_indptr[b + 1]) return pages * input.page_size;
  return keys_in_pages(pages, input.page_size, input.last_page_len[b]);
}

bool knows_seen_keys(const PlanCheckInput& input) {
  return input.causal && (!input.cp_round_robin || input.dealt.ranks > 0);
}

std::int64_t seen_keys(const PlanCheckInput& input, const PlanningRequest& request,
                       std::int64_t row) {
  const std::int64_t seen = request.global - (request.q_end - 1 - row);  // of all ranks
  if (!input.cp_round_robin) return seen;
  // Keys before `seen` of which every `ranks`-th from `rank` on is here.
  const std::int64_t here = seen - input.dealt.rank;
  return here > 0 ? ceil_div(here, input.dealt.ranks) : -(-here / input.dealt.ranks);
}

std::vector<Violation> plan_check(const PlanCheckInput& input) {
  std::vector<Violation> out;
  const auto requests = planning_requests(input);
  const std::int64_t works = check::check_work_indptr(input, out);
  if (!out.empty()) return out;  // which works run is not known
  check::check_query_lengths(input, out);
  const auto pieces = check::check_records(input, requests, works, out);
  check::check_empty_works(input, out);
  const auto tiles = check::group_tiles(pieces);
  check::check_coverage(input, requests, tiles, out);
  check::check_rows(requests, tiles, out);
  check::check_partial_rows(input, tiles, out);
  check::check_reduce(input, tiles, out);
  return out;
}

}  // namespace mla::plan
