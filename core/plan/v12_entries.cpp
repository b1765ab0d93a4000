#include "core/plan/v12_entries.hpp"

#include <algorithm>
#include <string>

#include "core/plan/checks.hpp"
#include "core/plan/v12_common.hpp"
#include "core/say.hpp"

namespace mla::plan {

Entries::Entries(const PlanInput& input, const PlanShape& shape) : input_(input), shape_(shape) {
  if (sparse(input)) {
    rows_ = input.batch() == 0 ? 1 : at(input.qo_indptr, 1) - at(input.qo_indptr, 0);
    topk_pages_ = ceil_div(input.topk, input.page_size);
  }
  lengths_in_scratch_ = folded() <= scratch_bytes(input.key.arch) / (ragged(input) ? 8 : 4);
  const bool one_tile = !shape.query_split && shape.fold_ratio == 1;
  trims_ = input.page_size == 1 && input.causal && !one_tile;
  base_ = lengths_in_scratch_ ? at(input.kv_indptr, 0) : 0;
}

// The original sizes its scratch for the folded batch and fills it for every entry.
MaybeError Entries::check_scratch() const {
  const std::int64_t words = (ragged(input_) ? 1 : 0) + (lengths_in_scratch_ ? 1 : 0);
  const std::int64_t bytes = 4 * words * count();
  if (bytes <= scratch_bytes(input_.key.arch)) return std::nullopt;
  return refused(say("the lengths of ", count(), " planning requests take ", bytes,
                     " bytes of scratch memory, which ends at ", scratch_bytes(input_.key.arch)));
}

MaybeError Entries::check_sparse() const {
  const PlanInput& in = input_;
  if (!sparse(in)) return std::nullopt;
  if (rows_ < 1)
    return refused(
        say("request 0 has ", rows_, " query rows: the sparse planner divides by that number"));
  if (!safe(in)) return std::nullopt;
  for (std::int64_t r = 0; r < in.batch(); ++r) {
    const std::int64_t q = at(in.qo_indptr, r + 1) - at(in.qo_indptr, r);
    if (q != rows_)
      return refused(say(request_name(r), " has ", q, " query rows: the sparse planner takes the ",
                         rows_, " of request 0 for all"));
  }
  if (ragged(in) ? rows_ != 1 : in.uniform_qo_len != 1)
    return refused(say("uniform_qo_len is ", in.uniform_qo_len, " with ", rows_,
                       " query rows a request: the sparse planner makes every row a request of its "
                       "own and needs 1"));
  return std::nullopt;
}

// Folded heads keep `ratio` entries for a request, but the original looks their rows up in the
// query list of the requests.
MaybeError Entries::check_folded() const {
  if (shape_.fold_ratio == 1 || !ragged(input_)) return std::nullopt;
  const std::int64_t size = static_cast<std::int64_t>(input_.qo_indptr.size());
  if (!safe(input_) && size > folded() && input_.uniform_qo_len != 0) return std::nullopt;
  return refused(say("heads fold ", shape_.fold_ratio, " to 1 and uniform_qo_len is ",
                     input_.uniform_qo_len, ": the planner would read qo_indptr up to entry ",
                     folded(), " of ", size));
}

std::int64_t Entries::causal_trim(const Entry& entry, std::int64_t tile) const {
  if (!input_.causal) return 0;
  if (safe(input_) && entry.pages() == 0) return 0;  // would end before the request
  std::int64_t trim = input_.cp_round_robin ? 0 : entry.tiles - 1 - tile;
  if (!sparse(input_) && shape_.fold_ratio != 1) {
    const std::int64_t row = (entry.q_begin + tile * entry.tile_rows) / shape_.fold_ratio;
    trim = entry.tiles - 1 - row % input_.uniform_qo_len;
  }
  return std::max<std::int64_t>(trim, 0);
}

// Rows that a tile of this entry must leave for later tiles; more is cut off keys that are visible.
std::int64_t Entries::visible_trim(const Entry& entry, std::int64_t tile) const {
  if (input_.cp_round_robin) return 0;
  return entry.qo_len - std::min((tile + 1) * entry.tile_rows, entry.qo_len);
}

MaybeError Entries::check_tiles(const Entry& entry) const {
  if (entry.tiles == 0 && !safe(input_))
    return refused(request_name(entry.request) +
                   " has 0 query rows and its query is split: the planner divides by its 0 tiles");
  if (!safe(input_)) return std::nullopt;
  // Where heads do not divide a workgroup's rows, even tiles may be fewer than were counted.
  if ((entry.tiles - 1) * entry.tile_rows >= std::max<std::int64_t>(entry.qo_len, 1))
    return refused(say(request_name(entry.request), " (q = ", entry.qo_len, ") has ", entry.tiles,
                       " tiles of ", entry.tile_rows, " rows for ", shape_.plan_heads.count(),
                       " heads, of which the last begins past its rows"));
  if (input_.page_size != 1) return std::nullopt;
  if (entry.tiles == 1 && shape_.fold_ratio == 1) return std::nullopt;  // it loses nothing
  for (std::int64_t t = 0; t < entry.tiles && entry.pages() > 0; ++t) {
    const std::int64_t trim = causal_trim(entry, t);
    if (trim > 0 && entry.pages() < entry.qo_len)
      return shorter_than_query(entry.request, entry.pages(), entry.qo_len);
    if (trim > visible_trim(entry, t))
      return refused(say("tile ", t, " of ", entry.tiles, " of ", request_name(entry.request),
                         " (q = ", entry.qo_len, ") loses its last ", trim, " keys, of which only ",
                         visible_trim(entry, t), " are out of its sight"));
  }
  return std::nullopt;
}

// A sparse row finds its query under index `folded` of its folded request.
void Entries::find_rows(Entry& entry, std::int64_t folded) const {
  if (ragged(input_)) {
    const std::int64_t r = rows_ == 1 ? entry.request : folded / rows_ / shape_.fold_ratio;
    return set_rows(entry, r, folded);
  }
  entry.q_begin = entry.qo_len * entry.index;
  entry.q_end = entry.q_begin + entry.qo_len;
}

void Entries::find_pages(Entry& entry) const {
  const std::int64_t group = rows_ == 1 ? entry.request : entry.index / shape_.fold_ratio;
  const std::int64_t first = at(input_.kv_indptr, entry.request);
  const std::int64_t last = at(input_.kv_indptr, entry.request + 1);
  if (!sparse(input_)) {
    entry.kv_begin = group == 0 ? 0 : first - base_;
    entry.kv_end = last - base_;
    return;
  }
  const std::int64_t pages = group == 0 ? at(input_.kv_indptr, 1) - base_ : last - first;
  entry.kv_begin = group * topk_pages_;
  entry.kv_end = entry.kv_begin + std::min(pages, topk_pages_);
}

MaybeError Entries::check() const {
  if (MaybeError bad = check_sparse()) return bad;
  if (MaybeError bad = check_folded()) return bad;
  return check_scratch();
}

Result<std::int64_t> Entries::demand() const {
  if (MaybeError bad = check()) return *bad;
  const Blocks blocks(input_.kv_granularity);
  const std::int64_t overhead = overhead_blocks(input_.page_size);
  std::int64_t demand = 0;
  // From the list: the pages of the first entry need not begin at its first word.
  const auto add = [&](std::int64_t request, std::int64_t tiles) {
    const std::int64_t pages = at(input_.kv_indptr, request + 1) - at(input_.kv_indptr, request);
    demand += (blocks.of(sparse(input_) ? std::min(pages, topk_pages_) : pages) + overhead) * tiles;
  };
  if (!in_parts() && !shape_.query_split) {  // one tile a request, which loses nothing
    for (std::int64_t r = 0; r < input_.batch(); ++r) add(r, 1);
    return demand;
  }
  MaybeError bad;
  each([&](const Entry& entry) {
    add(entry.request, entry.tiles);
    bad = check_tiles(entry);
    return !bad;
  });
  if (bad) return *bad;
  return demand;
}

}  // namespace mla::plan
