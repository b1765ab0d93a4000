#include "properties/step/decode/step_facts.hpp"

#include <algorithm>

#include "core/plan/tile_straddle.hpp"
#include "core/say.hpp"
#include "core/shape/split_count.hpp"
#include "properties/step/decode/page_zero.hpp"

namespace mla::prop {
namespace {

using Launch = const DecodeLaunch&;

std::string dtype_of(Launch l) {
  const DtypePair d = l.metadata.shape.dtype;
  return say(name(d.q), "/", name(d.kv));
}

std::string planner_of(Launch l) {
  if (!l.metadata.plan) return "none";
  switch (l.metadata.shape.planner) {
    case plan::PlannerVersion::v1_0:
      return "v10";
    case plan::PlannerVersion::v1_1:
      return "v11";
    case plan::PlannerVersion::v1_2:
      break;
  }
  return "v12";
}

// Keys of a work: the last page of a request may be partly filled.
std::int64_t keys_of(const DecodeMetadata& md, const plan::WorkItem& work) {
  const std::int64_t page = md.shape.page_size;
  std::int64_t keys = (std::int64_t{work.kv_end} - work.kv_begin) * page;
  for (std::size_t r = 0; r < md.last_page_len.size(); ++r)
    if (work.kv_end == md.kv_indptr[r + 1] && work.kv_begin >= md.kv_indptr[r])
      return keys - (page - md.last_page_len[r]);
  return keys;
}

template <class Visit>
void each_work(Launch l, Visit visit) {
  if (!l.metadata.plan) return;
  for (std::int64_t w = 0; w < l.metadata.plan->works(); ++w) {
    const plan::WorkItem work = l.metadata.plan->work(w);
    visit(work, keys_of(l.metadata, work));
  }
}

std::int64_t longest_work(Launch l) {
  std::int64_t longest = 0;
  each_work(l,
            [&](const plan::WorkItem&, std::int64_t keys) { longest = std::max(longest, keys); });
  return longest;
}

std::int64_t short_piece(Launch l) {
  bool found = false;
  each_work(l, [&](const plan::WorkItem& work, std::int64_t keys) {
    found = found || (work.partial_row >= 0 && keys < l.metadata.shape.max_qo_len);
  });
  return found ? 1 : 0;
}

std::int64_t keyless_work(Launch l) {
  bool found = false;
  each_work(l, [&](const plan::WorkItem& work, std::int64_t) {
    found = found || (work.q_end > work.q_begin && work.kv_end <= work.kv_begin);
  });
  return found ? 1 : 0;
}

// Of the request that has fewest; 0 without splits.
std::int64_t keys_per_split(Launch l) {
  const std::int64_t splits = l.metadata.shape.kv_splits;
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t keys : l.metadata.kv_lens)
    if (keys > 0) fewest = std::min(fewest, keys);
  return splits > 0 && fewest < std::numeric_limits<std::int64_t>::max() ? fewest / splits : 0;
}

std::int64_t row_without_keys(Launch l) {
  return rows_without_keys(l.metadata).empty() ? 0 : 1;
}

// Of those with rows and keys; 0 without any.
std::int64_t fewest_rows(Launch l) {
  const DecodeMetadata& md = l.metadata;
  std::int64_t fewest = 0;
  for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
    const std::int64_t rows = md.qo_indptr[r + 1] - md.qo_indptr[r];
    if (rows > 0 && md.kv_lens[r] > 0 && (fewest == 0 || rows < fewest)) fewest = rows;
  }
  return fewest;
}

std::int64_t split_tile(const ResolvedShape& s) {
  return plan::kernel_split_tile(s.arch, s.heads.kernel, s.max_qo_len, s.dtype);
}

// Whether visit(rows, keys) says so of a request that is split.
template <class Visit>
std::int64_t of_split_request(Launch l, Visit visit) {
  const DecodeMetadata& md = l.metadata;
  if (md.shape.route != Route::split || md.shape.kv_splits < 2) return 0;
  for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
    const std::int64_t rows = md.qo_indptr[r + 1] - md.qo_indptr[r];
    if (rows > 0 && md.kv_lens[r] > 0 && visit(rows, md.kv_lens[r])) return 1;
  }
  return 0;
}

std::int64_t unfilled_split(Launch l) {
  const ResolvedShape& s = l.metadata.shape;
  return of_split_request(l, [&s](std::int64_t, std::int64_t keys) {
    return std::min(s.kv_splits, ceil_div(keys, split_tile(s))) <
           std::min(s.kv_splits, ceil_div(keys, s.split_granularity));
  });
}

// Split z begins with tile z.
std::int64_t hidden_split(Launch l) {
  const ResolvedShape& s = l.metadata.shape;
  if (!s.causal) return 0;
  return of_split_request(l, [&s](std::int64_t rows, std::int64_t keys) {
    const std::int64_t last = std::min(s.kv_splits, ceil_div(keys, split_tile(s))) - 1;
    return last > 0 && last * split_tile(s) >= keys - rows + 1;
  });
}

// Workgroup z takes the tiles z, z + splits, ... and masks its last two, where the first row does
// not see all of them, and its first. To mask a tile spoils the keys of a later one; of its second
// tile only the second half, as the other is read before.
bool split_straddles(std::int64_t rows, std::int64_t keys, std::int64_t splits) {
  constexpr std::int64_t kTile = plan::kStraddledTile;
  const std::int64_t seen = keys - rows + 1;
  const std::int64_t tiles = ceil_div(keys, kTile);
  for (std::int64_t z = 0; z < std::min(splits, tiles); ++z) {
    const std::int64_t own = ceil_div(tiles - z, splits);
    if (own >= 3 && seen < (z + splits * (own - 2) + 1) * kTile) return true;
    if (own >= 2 && seen < (z + 1) * kTile && keys > (z + splits) * kTile + kTile / 2) return true;
  }
  return false;
}

// Whether holds(the keys that rows of a work see) of a work of a causal plan.
template <class Holds>
bool any_work_sees(Launch l, Holds holds) {
  const DecodeMetadata& md = l.metadata;
  bool found = false;
  each_work(l, [&](const plan::WorkItem& work, std::int64_t keys) {
    if (work.batch < 0 || work.batch >= md.requests().count()) return;
    const auto end = static_cast<std::size_t>(work.batch) + 1;
    found = found || holds(plan::seen_keys(work, keys, md.qo_indptr[end]));
  });
  return found && md.shape.causal;
}

std::int64_t early_limit(Launch l) {
  const auto limited = [](const plan::SeenKeys& seen) {
    return seen.first < (ceil_div(seen.keys, plan::kStraddledTile) - 1) * plan::kStraddledTile;
  };
  return any_work_sees(l, limited) ? 1 : 0;
}

std::int64_t straddled_tile(Launch l) {
  const DecodeMetadata& md = l.metadata;
  if (!md.shape.causal) return 0;
  bool found = any_work_sees(l, plan::straddles_tile);
  if (md.shape.route == Route::split)
    for (std::size_t r = 0; r < md.kv_lens.size(); ++r)
      found = found || split_straddles(md.qo_indptr[r + 1] - md.qo_indptr[r], md.kv_lens[r],
                                       md.shape.kv_splits);
  return found ? 1 : 0;
}

std::int64_t shifted_rows(Launch l) {
  const DecodeMetadata& md = l.metadata;
  const std::int64_t longest = md.shape.max_qo_len;
  for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
    const std::int64_t begin = md.qo_indptr[r];
    const std::int64_t rows = md.qo_indptr[r + 1] - begin;
    if (md.kv_lens[r] == 0) continue;
    if (rows < longest || begin != static_cast<std::int64_t>(r) * longest) return 1;
  }
  return 0;
}

std::int64_t ragged(Launch l) {
  return l.metadata.shape.uniform_qo_len < 0 ? 1 : 0;
}

Fact word(std::string_view name, std::vector<std::string_view> words, std::string_view meaning,
          std::string (*of)(Launch)) {
  return {.name = name, .meaning = meaning, .words = std::move(words), .word = of};
}
Fact number(std::string_view name, std::string_view meaning, std::int64_t (*of)(Launch)) {
  return {.name = name, .meaning = meaning, .words = {}, .number = of};
}
Fact truth(std::string_view name, std::string_view meaning, std::int64_t (*of)(Launch)) {
  return {.name = name, .meaning = meaning, .words = {}, .truth = true, .number = of};
}

std::vector<Fact> make_facts() {
  return {
      word("arch", {"gfx942", "gfx950"}, "architecture",
           [](Launch l) { return std::string(name(l.metadata.shape.arch)); }),
      word("route", {name(Route::persistent), name(Route::persistent_rows), name(Route::split)},
           "how stage 1 is launched",
           [](Launch l) { return std::string(name(l.metadata.shape.route)); }),
      word("dtype", {"bf16/bf16", "bf16/fp8", "fp8/bf16", "fp8/fp8"}, "of Q and cache", dtype_of),
      word("planner", {"none", "v10", "v11", "v12"}, "that made the plan", planner_of),
      number("heads", "heads of a kernel row, padded and folded",
             [](Launch l) { return l.metadata.shape.row_heads().count(); }),
      number("rows", "rows of the longest request, leading rows included",
             [](Launch l) { return l.metadata.shape.max_qo_len; }),
      number("fewest_rows", "rows of the shortest request that has rows and keys", fewest_rows),
      number("leading_rows", "zero rows in front of every request",
             [](Launch l) { return l.metadata.shape.leading_rows; }),
      number("requests", "requests that the kernel sees",
             [](Launch l) { return l.metadata.requests().count(); }),
      number("page", "tokens of a page", [](Launch l) { return l.metadata.shape.page_size; }),
      number("splits", "splits of every request, on route split",
             [](Launch l) { return l.metadata.shape.kv_splits; }),
      number("keys_per_split", "keys of the shortest request by splits, rounded down",
             keys_per_split),
      number("longest_work", "keys of the longest work of the plan", longest_work),
      word("page_zero", {"finite", "not-finite", "unbacked"}, "what page 0 of the cache holds",
           page_zero_of),
      number("cache_gib", "whole GiB of cache from page 0 to the end of the case's",
             [](Launch l) {
               const KvCache& cache = l.tensors.cache;
               return (cache.first_slot + cache.slots) * cache.row_bytes() >> 30;
             }),
      number("page_zero_lead", "by how much the key on page 0 outscores what a row sees of a work",
             page_zero_lead),
      truth("causal", "rows see the keys up to their own",
            [](Launch l) { return std::int64_t{l.metadata.shape.causal}; }),
      truth("lse", "the caller asks the kernel for the LSE",
            [](Launch l) { return std::int64_t{l.metadata.shape.final_lse}; }),
      truth("kv_scaled", "the scale of the cache is not 1",
            [](Launch l) { return std::int64_t{l.tensors.kv_scale != 1.0F}; }),
      truth("ragged", "requests differ in their rows", ragged),
      truth("short_piece", "a piece of a request has fewer keys than the request has rows",
            short_piece),
      truth("hidden_split", "a split has no key that the first row of its request sees",
            hidden_split),
      truth("unfilled_split", "the merge counts a split that gets no tile of AITER's kernel",
            unfilled_split),
      number("fold", "kernel requests of every request, when heads are folded",
             [](Launch l) { return l.metadata.shape.fold_ratio(); }),
      truth("early_limit", "the first row of a work sees not all keys before its last tile of 32",
            early_limit),
      truth("straddled_tile",
            "rows see keys of the last tile of 32 of a work, the first not all of the one before",
            straddled_tile),
      truth("shifted_rows",
            "a request with keys has fewer rows than the longest, or comes after one that has",
            shifted_rows),
      truth("keyless_work", "a work of the plan has rows and no keys", keyless_work),
      truth("row_without_keys", "a request has keys, but fewer than rows", row_without_keys),
  };
}

}  // namespace

std::span<const Fact> all_facts() {
  static const std::vector<Fact> facts = make_facts();
  return facts;
}

const Fact* find_fact(std::string_view name) {
  for (const Fact& fact : all_facts())
    if (fact.name == name) return &fact;
  return nullptr;
}

std::vector<RowRange> rows_without_keys(const DecodeMetadata& md) {
  std::vector<RowRange> rows;
  for (std::size_t r = 0; md.shape.causal && r < md.kv_lens.size(); ++r) {
    const std::int64_t first = md.qo_indptr[r];
    const std::int64_t without = md.qo_indptr[r + 1] - first - md.kv_lens[r];
    if (md.kv_lens[r] > 0 && without > 0) rows.push_back({first, first + without});
  }
  return rows;
}

bool Condition::holds(const DecodeLaunch& launch) const {
  if (fact->word != nullptr)
    return std::find(words.begin(), words.end(), fact->word(launch)) != words.end();
  const std::int64_t value = fact->number(launch);
  return std::any_of(ranges.begin(), ranges.end(),
                     [value](const Range& r) { return r.min <= value && value <= r.max; });
}

}  // namespace mla::prop
