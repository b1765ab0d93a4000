#include "core/plan/v12_entries.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/plan/checks.hpp"
#include "core/plan/v12_common.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

std::int64_t at(std::span<const std::int32_t> list, std::int64_t i) {
  return list[static_cast<std::size_t>(i)];
}

// What the derivation of every entry shares.
struct Context {
  const PlanInput& input;
  const PlanShape& shape;
  std::int64_t rows = 1;        // entries of one (folded) request: its rows when sparse, else 1
  std::int64_t topk_pages = 0;  // sparse
  bool lengths_in_scratch = true;

  Context(const PlanInput& in, const PlanShape& sh) : input(in), shape(sh) {
    if (sparse(in)) {
      rows = in.batch() == 0 ? 1 : at(in.qo_indptr, 1) - at(in.qo_indptr, 0);
      topk_pages = ceil_div(in.topk, in.page_size);
    }
    lengths_in_scratch = folded() <= scratch_bytes(in.key.arch) / (ragged(in) ? 8 : 4);
  }
  [[nodiscard]] std::int64_t folded() const { return input.batch() * shape.fold_ratio; }
  [[nodiscard]] std::int64_t count() const { return folded() * rows; }
  [[nodiscard]] std::int64_t request_of(std::int64_t index) const {
    return index / rows / shape.fold_ratio;
  }
  [[nodiscard]] std::int64_t pages_of(std::int64_t request) const {
    const std::int64_t pages = at(input.kv_indptr, request + 1) - at(input.kv_indptr, request);
    return sparse(input) ? std::min(pages, topk_pages) : pages;
  }
};

// The original sizes its scratch for the folded batch and fills it for every entry.
Status check_scratch(const Context& c) {
  const std::int64_t words = (ragged(c.input) ? 1 : 0) + (c.lengths_in_scratch ? 1 : 0);
  const std::int64_t bytes = 4 * words * c.count();
  if (bytes <= scratch_bytes(c.input.key.arch)) return std::nullopt;
  return refused(say("the lengths of ", c.count(), " planning requests take ", bytes,
                     " bytes of scratch memory, which ends at ", scratch_bytes(c.input.key.arch)));
}

Status check_sparse(const Context& c) {
  const PlanInput& in = c.input;
  if (!sparse(in)) return std::nullopt;
  if (c.rows < 1)
    return refused(
        say("request 0 has ", c.rows, " query rows: the sparse planner divides by that number"));
  if (!safe(in)) return std::nullopt;
  for (std::int64_t r = 0; r < in.batch(); ++r) {
    const std::int64_t q = at(in.qo_indptr, r + 1) - at(in.qo_indptr, r);
    if (q != c.rows)
      return refused(say(request_name(r), " has ", q, " query rows: the sparse planner takes the ",
                         c.rows, " of request 0 for all"));
  }
  if (ragged(in) ? c.rows != 1 : in.uniform_qo_len != 1)
    return refused(say("uniform_qo_len is ", in.uniform_qo_len, " with ", c.rows,
                       " query rows a request: the sparse planner makes every row a request of its "
                       "own and needs 1"));
  return std::nullopt;
}

// Folded heads keep `ratio` entries for a request, but the original looks their rows up in the
// query list of the requests.
Status check_folded(const Context& c) {
  if (c.shape.fold_ratio == 1 || !ragged(c.input)) return std::nullopt;
  const std::int64_t size = static_cast<std::int64_t>(c.input.qo_indptr.size());
  if (!safe(c.input) && size > c.folded() && c.input.uniform_qo_len != 0) return std::nullopt;
  return refused(say("heads fold ", c.shape.fold_ratio, " to 1 and uniform_qo_len is ",
                     c.input.uniform_qo_len, ": the planner would read qo_indptr up to entry ",
                     c.folded(), " of ", size));
}

// Of the entry before: most have as many rows.
struct Tiling {
  std::int64_t qo_len = std::numeric_limits<std::int64_t>::min();
  std::int64_t tiles = 0;
  std::int64_t tile_rows = 0;
};

struct Rows {
  std::int64_t count = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// A sparse row finds its query under index `i` of its folded request.
Rows rows_of(const Context& c, std::int64_t index, std::int64_t request, std::int64_t i) {
  const std::int64_t uniform = c.input.uniform_qo_len;
  if (!ragged(c.input)) return {uniform, uniform * index, uniform * (index + 1)};
  const std::int64_t r = c.rows == 1 ? request : c.request_of(i);
  return {at(c.input.qo_indptr, r + 1) - at(c.input.qo_indptr, r), at(c.input.qo_indptr, i),
          at(c.input.qo_indptr, i + 1)};
}

struct Pages {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Pages pages_of(const Context& c, std::int64_t index, std::int64_t request) {
  // Without lengths in scratch memory the original takes kv_indptr[1] for the first length and
  // never subtracts kv_indptr[0].
  const std::int64_t base = c.lengths_in_scratch ? at(c.input.kv_indptr, 0) : 0;
  const std::int64_t group = c.rows == 1 ? request : index / c.shape.fold_ratio;
  if (!sparse(c.input))
    return {group == 0 ? 0 : at(c.input.kv_indptr, request) - base,
            at(c.input.kv_indptr, request + 1) - base};
  const std::int64_t begin = group * c.topk_pages;
  const std::int64_t first = std::min(at(c.input.kv_indptr, 1) - base, c.topk_pages);
  return {begin, begin + (group == 0 ? first : c.pages_of(request))};
}

// Read when pages hold several tokens. With folded heads the original runs past the end of
// kv_last_page_lens.
std::int64_t last_page_len(const Context& c, std::int64_t request, std::int64_t batch) {
  if (c.input.page_size == 1) return 0;
  const std::int64_t i = safe(c.input) ? request : batch;
  const bool inside = i < static_cast<std::int64_t>(c.input.last_page_len.size());
  return inside ? at(c.input.last_page_len, i) : kPoison;
}

// Rows that a tile of this entry must leave for later tiles; more is cut off keys that are visible.
std::int64_t visible_trim(const PlanInput& input, const Entry& entry, std::int64_t tile) {
  if (input.cp_round_robin) return 0;
  return entry.qo_len - std::min((tile + 1) * entry.tile_rows, entry.qo_len);
}

Status check_tiles(const Context& c, const Entry& entry) {
  if (entry.tiles == 0 && !safe(c.input))
    return refused(request_name(entry.request) +
                   " has 0 query rows and its query is split: the planner divides by its 0 tiles");
  if (!safe(c.input) || c.input.page_size != 1) return std::nullopt;
  if (entry.tiles == 1 && c.shape.fold_ratio == 1) return std::nullopt;  // it loses nothing
  for (std::int64_t t = 0; t < entry.tiles && entry.pages() > 0; ++t) {
    const std::int64_t trim = causal_trim(c.input, c.shape, entry, t);
    if (trim > 0 && entry.pages() < entry.qo_len)
      return shorter_than_query(entry.request, entry.pages(), entry.qo_len);
    if (trim > visible_trim(c.input, entry, t))
      return refused(say("tile ", t, " of ", entry.tiles, " of ", request_name(entry.request),
                         " (q = ", entry.qo_len, ") loses its last ", trim, " keys, of which only ",
                         visible_trim(c.input, entry, t), " are out of its sight"));
  }
  return std::nullopt;
}

}  // namespace

std::int64_t causal_trim(const PlanInput& input, const PlanShape& shape, const Entry& entry,
                         std::int64_t tile) {
  if (!input.causal) return 0;
  std::int64_t trim = input.cp_round_robin ? 0 : entry.tiles - 1 - tile;
  if (!sparse(input) && shape.fold_ratio != 1) {
    const std::int64_t row = (entry.q_begin + tile * entry.tile_rows) / shape.fold_ratio;
    trim = entry.tiles - 1 - row % input.uniform_qo_len;
  }
  return std::max<std::int64_t>(trim, 0);
}

Result<Entries> v12_entries(const PlanInput& input, const PlanShape& shape) {
  const Context c(input, shape);
  if (Status bad = check_sparse(c)) return *bad;
  if (Status bad = check_folded(c)) return *bad;
  if (Status bad = check_scratch(c)) return *bad;
  Entries entries;
  entries.list.reserve(static_cast<std::size_t>(c.count()));
  Tiling tiling;
  const auto add = [&](std::int64_t request, std::int64_t folded, std::int64_t row) -> Status {
    const std::int64_t index = folded * c.rows + row;
    const std::int64_t batch = sparse(input) ? request : index;
    const Rows rows = rows_of(c, index, request, folded);
    const Pages pages = pages_of(c, index, request);
    if (rows.count != tiling.qo_len)
      tiling = {rows.count, shape.tiles(rows.count), shape.tile_rows(rows.count)};
    // Only an unfolded sparse row knows the draft rows behind it.
    const std::int64_t after = sparse(input) && shape.fold_ratio == 1 ? c.rows - 1 - row : 0;
    entries.list.push_back({.index = index,
                            .request = request,
                            .batch = batch,
                            .qo_len = rows.count,
                            .q_begin = rows.begin,
                            .q_end = rows.end,
                            .kv_begin = pages.begin,
                            .kv_end = pages.end,
                            .tiles = tiling.tiles,
                            .tile_rows = tiling.tile_rows,
                            .last_page_len = last_page_len(c, request, batch),
                            .rows_after = after});
    const std::int64_t blocks = Blocks(input.kv_granularity).of(c.pages_of(request));
    entries.demand += (blocks + overhead_blocks(input.page_size)) * tiling.tiles;
    return check_tiles(c, entries.list.back());
  };
  for (std::int64_t folded = 0, request = 0; request < input.batch(); ++request)
    for (std::int64_t copy = 0; copy < shape.fold_ratio; ++copy, ++folded)
      for (std::int64_t row = 0; row < c.rows; ++row)
        if (Status bad = add(request, folded, row)) return *bad;
  return entries;
}

}  // namespace mla::plan
