#include "core/plan/v12_entries.hpp"

#include <algorithm>
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

void set_query(const Context& c, Entry& entry) {
  const std::int64_t i = entry.index / c.rows;  // a sparse row finds its query under this index
  if (ragged(c.input)) {
    const std::int64_t r = c.request_of(i);
    entry.qo_len = at(c.input.qo_indptr, r + 1) - at(c.input.qo_indptr, r);
    entry.q_begin = at(c.input.qo_indptr, i);
    entry.q_end = at(c.input.qo_indptr, i + 1);
  } else {
    entry.qo_len = c.input.uniform_qo_len;
    entry.q_begin = entry.qo_len * entry.index;
    entry.q_end = entry.qo_len * (entry.index + 1);
  }
  entry.tiles = c.shape.tiles(entry.qo_len);
  entry.tile_rows = c.shape.tile_rows(entry.qo_len);
}

void set_keys(const Context& c, Entry& entry) {
  // Without lengths in scratch memory the original takes kv_indptr[1] for the first length and
  // never subtracts kv_indptr[0].
  const std::int64_t base = c.lengths_in_scratch ? at(c.input.kv_indptr, 0) : 0;
  const std::int64_t group = entry.index / c.shape.fold_ratio;
  if (sparse(c.input)) {
    entry.kv_begin = group * c.topk_pages;
    const std::int64_t first = std::min(at(c.input.kv_indptr, 1) - base, c.topk_pages);
    entry.kv_end = entry.kv_begin + (group == 0 ? first : c.pages_of(entry.request));
  } else {
    entry.kv_begin = group == 0 ? 0 : at(c.input.kv_indptr, entry.request) - base;
    entry.kv_end = at(c.input.kv_indptr, entry.request + 1) - base;
  }
  if (c.input.page_size == 1) return;
  // With folded heads the original runs past the end of kv_last_page_lens.
  const std::int64_t i = safe(c.input) ? entry.request : entry.batch;
  const bool inside = i < static_cast<std::int64_t>(c.input.last_page_len.size());
  entry.last_page_len = inside ? at(c.input.last_page_len, i) : kPoison;
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
  for (std::int64_t index = 0; index < c.count(); ++index) {
    Entry& entry = entries.list.emplace_back();
    entry.index = index;
    entry.request = c.request_of(index);
    entry.batch = sparse(input) ? entry.request : index;
    // Only an unfolded sparse row knows the draft rows behind it.
    if (sparse(input) && shape.fold_ratio == 1) entry.rows_after = c.rows - 1 - index % c.rows;
    set_query(c, entry);
    set_keys(c, entry);
    if (Status bad = check_tiles(c, entry)) return *bad;
    const std::int64_t blocks = ceil_div(c.pages_of(entry.request), input.kv_granularity);
    entries.demand += (blocks + overhead_blocks(input.page_size)) * entry.tiles;
  }
  return entries;
}

}  // namespace mla::plan
