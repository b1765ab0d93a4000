#include "core/plan/ps_prefill.hpp"

#include <algorithm>
#include <compare>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/checks.hpp"
#include "core/plan/words.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

// Heads are spread over as many groups of slots as divide both; every group plans alike.
struct Groups {
  std::int64_t count = 0;
  std::int64_t slots = 0;  // of one group
  std::int64_t heads = 0;  // KV heads of one group
};

Groups groups_of(ComputeUnits units, Heads heads) {
  const std::int64_t count = std::gcd(heads.count(), units.count());
  return {count, units.count() / count, heads.count() / count};
}

// Rows of one request that are planned together, with the keys that the last of them sees.
struct Tile {
  std::int64_t request = 0;
  std::int64_t q_begin = 0;  // rows, global
  std::int64_t q_end = 0;
  std::int64_t pages = 0;   // whole units
  std::int64_t tokens = 0;  // visible
};

// Work items but for their heads, in the order in which slots get them.
struct Dealt {
  std::vector<WorkItem> items;
  std::vector<std::size_t> ends;  // of each slot, in items
};

class PsWalk {
 public:
  explicit PsWalk(const PsInput& input) : input_(input) {}
  Dealt deal(std::int64_t slots);

 private:
  void add_tiles(std::int64_t request);
  void fill(std::int64_t pages, std::vector<WorkItem>& items);
  WorkItem take(const Tile& tile, std::int64_t pages);

  const PsInput& input_;
  std::vector<Tile> tiles_;
  std::int64_t units_ = 0;     // of all tiles
  std::size_t tile_ = 0;       // the next one to deal out
  std::int64_t done_ = 0;      // its pages already dealt out
  std::int64_t partials_ = 0;  // partial results so far, qlen_granularity rows each
};

// Tiles alternate between the front and the back of the query, so that long and short ones mix.
void PsWalk::add_tiles(std::int64_t request) {
  const std::int64_t begin = at(input_.qo_indptr, request);
  const std::int64_t q = at(input_.qo_indptr, request + 1) - begin;
  const std::int64_t context = at(input_.context_lens, request);
  const std::int64_t count = ceil_div(q, input_.qlen_granularity);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = i % 2 == 0 ? i / 2 : count - 1 - i / 2;
    const std::int64_t first = place * input_.qlen_granularity;
    const std::int64_t last = std::min(first + input_.qlen_granularity, q);
    const std::int64_t tokens = input_.causal ? std::min(context - q + last, context) : context;
    const std::int64_t units = ceil_div(tokens, input_.kvlen_granularity);
    units_ += units;
    tiles_.push_back({request, begin + first, begin + last,
                      units * (input_.kvlen_granularity / input_.block_size), tokens});
  }
}

// The next `pages` pages of the tile, or all that is left of it.
WorkItem PsWalk::take(const Tile& tile, std::int64_t pages) {
  const std::int64_t left = tile.tokens - done_ * input_.block_size;
  const bool last = left <= pages * input_.block_size;
  const std::int64_t first_page = at(input_.kv_indptr, tile.request);
  const std::int64_t begin = first_page + done_;
  const std::int64_t taken = last ? tile.pages - done_ : pages;
  const std::int64_t end = std::min(begin + taken, at(input_.kv_indptr, tile.request + 1));
  WorkItem item{.batch = word(tile.request),
                .q_begin = word(tile.q_begin),
                .q_end = word(tile.q_end),
                .kv_begin = word(begin),
                .kv_end = word(end)};
  if (!last || done_ != 0) item.partial_row = word(input_.qlen_granularity * partials_++);
  if (!last)
    item.kv_offset =
        word(at(input_.context_lens, tile.request) - (end - first_page) * input_.block_size);
  done_ = last ? 0 : done_ + taken;
  tile_ += last ? 1 : 0;
  return item;
}

void PsWalk::fill(std::int64_t pages, std::vector<WorkItem>& items) {
  while (tile_ < tiles_.size() && pages > 0) {
    const Tile& tile = tiles_[tile_];
    const std::int64_t before = done_;
    items.push_back(take(tile, pages));
    pages = done_ == 0 ? pages - (tile.pages - before) : 0;  // a tile that is left took all
  }
}

Dealt PsWalk::deal(std::int64_t slots) {
  for (std::int64_t r = 0; r < input_.batch(); ++r) add_tiles(r);
  const std::int64_t pages_each = input_.kvlen_granularity / input_.block_size;
  Dealt dealt;
  for (std::int64_t s = 0; s < slots; ++s) {
    const std::int64_t units = units_ / slots + (s < units_ % slots ? 1 : 0);
    fill(units * pages_each, dealt.items);
    dealt.ends.push_back(dealt.items.size());
  }
  return dealt;
}

void write_works(const PsInput& input, const Dealt& dealt, Plan& plan) {
  const Groups groups = groups_of(input.compute_units, input.kv_heads);
  std::int64_t works = 0;
  std::int64_t slot = 0;
  for (std::int64_t group = 0; group < groups.count; ++group) {
    std::size_t begin = 0;
    for (const std::size_t end : dealt.ends) {
      for (std::int64_t h = 0; h < groups.heads; ++h) {
        const std::int64_t head = (group * groups.heads + h) * input.qhead_granularity;
        for (std::size_t i = begin; i < end; ++i) {
          WorkItem item = dealt.items[i];
          item.heads = word((head + input.qhead_granularity) << 16 | (head & 0xffff));
          plan.set_work(works++, item);
        }
      }
      plan.work_indptr.set(++slot, word(works));
      begin = end;
    }
  }
}

// Split tiles in the order of their rows; heads share the partial rows.
void write_merges(const Dealt& dealt, Plan& plan) {
  struct Partial {
    std::int32_t q_begin, q_end, row;  // rows of the tile, and the first partial one
    auto operator<=>(const Partial&) const = default;
  };
  std::vector<Partial> partials;  // those of a tile ascend, since they are dealt so
  for (const WorkItem& item : dealt.items)
    if (item.partial_row != -1) partials.push_back({item.q_begin, item.q_end, item.partial_row});
  std::sort(partials.begin(), partials.end());
  std::int64_t tile = 0;
  std::int64_t merged = 0;
  for (std::size_t i = 0; i < partials.size(); ++i) {
    const Partial& p = partials[i];
    plan.reduce_partial_map.set(merged++, p.row);
    if (i + 1 < partials.size() && partials[i + 1].q_begin == p.q_begin &&
        partials[i + 1].q_end == p.q_end)
      continue;
    plan.reduce_final_map.set(2 * tile, p.q_begin);
    plan.reduce_final_map.set(2 * tile + 1, p.q_end);
    plan.reduce_indptr.set(++tile, word(merged));
  }
  plan.reduce_indptr.fill_from(tile, word(merged));
}

MaybeError positive(const char* name, std::int64_t value) {
  if (value > 0) return std::nullopt;
  return Error{ErrorCode::usage, say(name, " is ", value, ": it must be positive")};
}

MaybeError check_lists(const PsInput& input) {
  const auto entries = static_cast<std::int64_t>(input.kv_indptr.size());
  const auto lengths = static_cast<std::int64_t>(input.context_lens.size());
  if (input.batch() < 0 || entries != input.batch() + 1 || lengths != input.batch())
    return Error{ErrorCode::usage,
                 say("qo_indptr has ", input.batch() + 1, " entries, kv_indptr ", entries,
                     " and context_lens ", lengths, ": they must be for one batch")};
  if (input.qo_indptr[0] < 0 || input.kv_indptr[0] < 0)
    return Error{ErrorCode::usage,
                 say("qo_indptr starts at ", input.qo_indptr[0], " and kv_indptr at ",
                     input.kv_indptr[0], ": neither may be negative")};
  for (std::int64_t r = 0; r < input.batch(); ++r)
    if (at(input.qo_indptr, r + 1) < at(input.qo_indptr, r) ||
        at(input.kv_indptr, r + 1) < at(input.kv_indptr, r) || at(input.context_lens, r) < 0)
      return Error{ErrorCode::usage, request_name(r) +
                                         " has a negative number of rows, pages or "
                                         "keys"};
  return std::nullopt;
}

MaybeError check_form(const PsInput& input) {
  for (const auto& [name, value] : {std::pair{"compute_units", input.compute_units.count()},
                                    std::pair{"kv_heads", input.kv_heads.count()},
                                    std::pair{"qhead_granularity", input.qhead_granularity},
                                    std::pair{"qlen_granularity", input.qlen_granularity},
                                    std::pair{"block_size", input.block_size}})
    if (MaybeError bad = positive(name, value)) return bad;
  if (!is_power_of_two(input.kvlen_granularity))
    return Error{ErrorCode::unsupported, say("kvlen_granularity is ", input.kvlen_granularity,
                                             ": it must be a power of two")};
  if (input.kvlen_granularity % input.block_size != 0)
    return Error{ErrorCode::unsupported,
                 say("kvlen_granularity is ", input.kvlen_granularity,
                     ": it must be a multiple of block_size = ", input.block_size)};
  return check_lists(input);
}

// Pages of a request that its works reach: units are whole, and end with its pages at the latest.
std::int64_t pages_reached(const PsInput& input, std::int64_t keys, std::int64_t pages) {
  const std::int64_t units = ceil_div(keys, input.kvlen_granularity);
  return std::min(units * (input.kvlen_granularity / input.block_size), pages);
}

}  // namespace

MaybeError refused_requests(const PsInput& input) {
  for (std::int64_t r = 0; r < input.batch(); ++r) {
    const std::int64_t q = at(input.qo_indptr, r + 1) - at(input.qo_indptr, r);
    const std::int64_t n = at(input.context_lens, r);
    const std::int64_t pages = at(input.kv_indptr, r + 1) - at(input.kv_indptr, r);
    const std::int64_t used = ceil_div(n, input.block_size);
    if (q == 0) continue;
    if (n < (input.causal ? q : 1))
      return refused(say(request_name(r), " has n = ", n, " keys for q = ", q,
                         " query rows: tiles without keys are dropped at the end of the batch"),
                     "BUG-075");
    if (pages < used)
      return refused(say(request_name(r), " has ", n, " keys but only ", pages, " pages of ",
                         input.block_size));
    if (input.causal && pages > used)
      return refused(say(request_name(r), " has ", n, " keys but ", pages, " pages of ",
                         input.block_size,
                         ": the kernel counts keys by pages, and rows see keys after their own"));
    if (const std::int64_t reached = pages_reached(input, n, pages); reached > used)
      return refused(say(request_name(r), " has ", n, " keys but ", pages, " pages of ",
                         input.block_size, ": units of ", input.kvlen_granularity, " keys reach ",
                         reached, " of them"));
  }
  return std::nullopt;
}

Result<BufferSizes> query_ps_sizes(const PsSizeQuery& query) {
  for (const auto& [name, value] :
       {std::pair{"compute_units", query.compute_units.count()},
        std::pair{"kv_heads", query.kv_heads.count()}, std::pair{"max_qo_len", query.max_qo_len},
        std::pair{"qlen_granularity", query.qlen_granularity}})
    if (MaybeError bad = positive(name, value)) return *bad;
  const std::int64_t slots = groups_of(query.compute_units, query.kv_heads).slots;
  const std::int64_t tiles = ceil_div(query.max_qo_len, query.qlen_granularity);
  const std::int64_t pieces = query.batch.count() + slots - 1;
  return BufferSizes{.work_indptr = query.compute_units.count() + 1,
                     .work_items = pieces * tiles * query.kv_heads.count(),
                     .reduce_indptr = query.batch.count() * tiles + 1,
                     .reduce_final_rows = query.batch.count() * tiles,
                     .reduce_partial_map = std::min(pieces, 2 * (slots - 1)) * tiles};
}

Result<Plan> plan_ps_prefill(const PsInput& input, const BufferSizes& sizes) {
  if (MaybeError bad = check_form(input)) return *bad;
  if (input.fidelity == Fidelity::safe)
    if (MaybeError bad = refused_requests(input)) return *bad;
  Plan plan(sizes);
  for (PlanBuffer* buffer : plan.all()) buffer->fill_from(0, 0);  // memory of the host is zeroed
  const Groups groups = groups_of(input.compute_units, input.kv_heads);
  const Dealt dealt = PsWalk(input).deal(groups.slots);
  write_works(input, dealt, plan);
  write_merges(dealt, plan);
  return checked_overruns(std::move(plan), input.fidelity);
}

}  // namespace mla::plan
