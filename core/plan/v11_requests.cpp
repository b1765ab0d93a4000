#include "core/plan/v11_requests.hpp"

#include <algorithm>
#include <string>

#include "core/plan/checks.hpp"
#include "core/plan/v11_sort.hpp"
#include "core/plan/v12_common.hpp"
#include "core/plan/words.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

// Planning requests of one folded request: its rows when sparse.
std::int64_t rows_each(const PlanInput& input) {
  return sparse(input) ? input.uniform_qo_len : 1;
}

std::int64_t count(const PlanInput& input, const PlanShape& shape) {
  return input.batch() * shape.fold_ratio * rows_each(input);
}

MaybeError check_lists(const PlanInput& input, const PlanShape& shape) {
  if (MaybeError bad = check_form(input, shape, PlannerVersion::v1_1)) return bad;
  const std::int64_t entries = static_cast<std::int64_t>(input.qo_indptr.size());
  if (input.batch() < 1) return refused("a batch of 0 requests: planner v1.1 divides by it");
  if (sparse(input) && ragged(input))
    return refused(say("uniform_qo_len is ", input.uniform_qo_len,
                       ": the sparse planner v1.1 multiplies the batch by it"));
  if (entries != input.batch() + 1)
    return Error{ErrorCode::usage,
                 say("qo_indptr has ", entries, " entries and kv_indptr ", input.kv_indptr.size(),
                     ": planner v1.1 takes the batch from the first")};
  if (ragged(input) && shape.fold_ratio != 1)
    return refused(
        say("heads fold ", shape.fold_ratio,
            " to 1 and the query lengths are ragged: the planner would read qo_indptr up "
            "to entry ",
            count(input, shape), " of ", entries));
  if (MaybeError bad = check_safe(input, PlannerVersion::v1_1)) return bad;
  if (MaybeError bad =
          check_ignored_cap(input, "slots", split_budget(input, shape), shape.slots.count()))
    return bad;
  return check_ignored_options(input);
}

// Costs and partial ranges are kept in the memory in which whole waves sort before: two words for
// each lane of a wave, which is the larger demand for fewer than 64 requests only, and fits.
MaybeError check_scratch(const PlanInput& input, const PlanShape& shape, std::int64_t tiles) {
  const std::int64_t n = count(input, shape);
  const std::int64_t longest = std::max<std::int64_t>(input.key.max_qo_len, 1);
  const std::int64_t tile_limit =
      n * ceil_div(longest * shape.plan_heads.count(), shape.rows_per_workgroup);
  const std::int64_t lists = 3 * n + n + 1;
  const std::int64_t bytes = 4 * (lists + 2 * shape.slots.count() + 4 * tile_limit);
  if (bytes > scratch_bytes(input.key.arch))
    return Error{ErrorCode::unsupported,
                 say(n, " planning requests take ", bytes,
                     " bytes of scratch memory, which ends at ", scratch_bytes(input.key.arch))};
  if (tiles > tile_limit)
    return refused(say("the queries have ", tiles, " tiles, but max_qo_len = ",
                       input.key.max_qo_len, " reserves scratch memory for ", tile_limit));
  return std::nullopt;
}

V11Request make_request(const PlanInput& input, const PlanShape& shape, std::int64_t index) {
  V11Request r;
  r.index = index;
  r.request = index / rows_each(input) / shape.fold_ratio;
  const std::int64_t listed = at(input.kv_indptr, r.request + 1) - at(input.kv_indptr, r.request);
  r.pages = sparse(input) ? std::min(listed, input.topk) : listed;
  // A sparse row owns `topk` places; a dense request its range of the list.
  const std::int64_t group = index / shape.fold_ratio;
  r.kv_begin = sparse(input) ? group * input.topk : at(input.kv_indptr, r.request);
  r.listed_qo_len = at(input.qo_indptr, r.request + 1) - at(input.qo_indptr, r.request);
  const std::int64_t uniform = sparse(input) ? 1 : input.uniform_qo_len;
  r.qo_len = ragged(input) ? r.listed_qo_len : uniform;
  r.q_begin = ragged(input) ? at(input.qo_indptr, index) : uniform * index;
  const std::int64_t heads = shape.plan_heads.count();
  const std::int64_t packed = r.qo_len * heads;
  r.packed_tile_rows = std::min(packed, shape.rows_per_workgroup);
  r.tiles = ceil_div(packed, shape.rows_per_workgroup);
  r.tile_rows = ceil_div(r.packed_tile_rows, heads);
  return r;
}

// What a slot should take at most: the average, raised where it is small, plus an allowance for
// splitting that grows with the batch. All of it rounds as 32-bit float arithmetic does.
std::int64_t limit_of_slot(const PlanInput& input, const PlanShape& shape, std::int64_t requests,
                           std::int64_t cost) {
  const std::int64_t uniform = sparse(input) ? 1 : input.uniform_qo_len;
  const std::int64_t rows = ragged(input) ? shape.rows_per_workgroup : uniform;
  const std::int64_t split_cost = 2 * v11_cost(rows, 1) - v11_cost(rows, 2);
  const std::int64_t slots = shape.slots.count();
  const std::int64_t average =
      std::max<std::int64_t>(ceil_div(cost - split_cost * requests, slots), 1);
  std::int64_t pages = average;
  if (average <= 8) {
    pages = 32;
  } else if (average <= 16) {
    pages = 64;
  } else if (average <= 32) {
    pages = 128;
  } else if (average <= 64) {
    pages = 192;
  }
  const float allowance =
      static_cast<float>(requests) * 0.01F + static_cast<float>(average) * 0.01F + 10.0F;
  const float limit =
      static_cast<float>(v11_cost(rows, pages)) + static_cast<float>(split_cost) * allowance;
  return round_up(static_cast<std::int32_t>(limit), input.kv_granularity);
}

MaybeError check_tiles(const PlanInput& input, const PlanShape& shape, const V11Request& r) {
  if (!safe(input) || r.pages == 0) return std::nullopt;
  for (std::int64_t t = 0; t < r.tiles; ++t)
    if (r.tiles > 1 && v11_visible_pages(input, shape, r, t) < r.pages && r.pages < r.qo_len)
      return shorter_than_query(r.request, r.pages, r.qo_len);
  return std::nullopt;
}

}  // namespace

std::int64_t v11_visible_pages(const PlanInput& input, const PlanShape& shape,
                               const V11Request& request, std::int64_t tile) {
  if (!input.causal) return request.pages;
  const std::int64_t rows =
      ceil_div((tile + 1) * request.packed_tile_rows, shape.plan_heads.count());
  return std::min(request.pages, request.pages - request.qo_len + rows);
}

Result<V11Requests> v11_requests(const PlanInput& input, const PlanShape& shape) {
  if (MaybeError bad = check_lists(input, shape)) return *bad;
  V11Requests all;
  std::int64_t cost = 0;
  std::int64_t listed_rows = 0;
  const std::int64_t n = count(input, shape);
  for (std::int64_t index = 0; index < n; ++index) {
    V11Request r = make_request(input, shape, index);
    if (MaybeError bad = check_tiles(input, shape, r)) return *bad;
    r.first_tile = all.tiles;
    all.tiles += r.tiles;
    listed_rows += r.listed_qo_len;
    for (std::int64_t t = 0; t < r.tiles; ++t)
      cost += v11_cost(r.packed_tile_rows, v11_visible_pages(input, shape, r, t));
    all.list.push_back(r);
  }
  if (listed_rows < n)
    return refused(say("qo_indptr lists ", listed_rows, " query rows for ", n,
                       " planning requests: planner v1.1 divides by their average, which is 0"));
  if (MaybeError bad = check_scratch(input, shape, all.tiles)) return *bad;
  all.cost_limit = limit_of_slot(input, shape, n, cost);
  return all;
}

}  // namespace mla::plan
