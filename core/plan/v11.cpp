// Planner v1.1: requests in order of falling cost, each piece to the slot with the least cost so
// far, up to a limit that all slots share.
//
// Source: spec aiter.md 3.3.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/checks.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/v11_requests.hpp"
#include "core/plan/v11_sort.hpp"
#include "core/plan/words.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

constexpr std::int64_t kAbsorbedTail = 16;  // pages; a rest this short joins the piece before

// Partial rows of one tile, and the final rows they merge into.
struct Partials {
  bool split = false;
  std::int64_t first = 0;
  std::int64_t pieces = 0;
  std::int64_t q_begin = -1;
  std::int64_t q_end = -2;
};

// Piece of a tile on the slot that took it.
struct Placed {
  std::size_t slot = 0;
  WorkItem item;
};

class V11 {
 public:
  V11(const PlanInput& input, const PlanShape& shape, const V11Requests& requests)
      : input_(input),
        shape_(shape),
        requests_(requests),
        cost_(static_cast<std::size_t>(shape.slots.count()), 0),
        partials_(static_cast<std::size_t>(requests.tiles)) {}

  MaybeError place_all();
  [[nodiscard]] Plan write(const BufferSizes& sizes) const;

 private:
  [[nodiscard]] std::size_t cheapest() const {
    return static_cast<std::size_t>(std::min_element(cost_.begin(), cost_.end()) - cost_.begin());
  }
  // Pages that a piece may take on slot `slot`: never less than an even share of the tile.
  [[nodiscard]] std::int64_t room(std::size_t slot, std::int64_t packed, std::int64_t pages) const {
    const std::int64_t share = ceil_div(pages, shape_.slots.count());
    return std::max(v11_pages(requests_.cost_limit - cost_[slot], packed),
                    round_up(share, input_.kv_granularity));
  }
  MaybeError place(const V11Request& request, std::int64_t tile);
  Result<bool> is_split(const V11Request& request, std::int64_t tile, std::int64_t pages) const;
  void append(const V11Request& request, std::int64_t tile, std::int64_t begin, std::int64_t take);
  void write_works(Plan& plan) const;

  const PlanInput& input_;
  const PlanShape& shape_;
  const V11Requests& requests_;
  std::vector<std::int64_t> cost_;  // of every slot
  std::vector<Placed> placed_;      // in the order of placing
  std::vector<Partials> partials_;  // of every tile, in natural order
  std::int64_t partial_rows_ = 0;   // rows of the partial buffers in use
};

// Whether the tile's pieces go through the partial buffers, judged before the first is placed.
Result<bool> V11::is_split(const V11Request& request, std::int64_t tile, std::int64_t pages) const {
  const std::int64_t first = room(cheapest(), request.packed_tile_rows, pages);
  if (first == 0)
    return refused(
        say("tile ", tile, " of ", request_name(request.request), " sees ", pages,
            " keys and every slot is over its limit: planner v1.1 divides by its room of 0"));
  const std::int64_t pieces = ceil_div(pages, first);
  if (pieces == 2) return pages - first > kAbsorbedTail;
  // With a room of a few pages the tail takes all that is left, however many pieces were expected.
  if (safe(input_) && pieces > 2 && pages - first <= kAbsorbedTail)
    return refused(say("tile ", tile, " of ", request_name(request.request), " has ", pages,
                       " keys and a room of ", first,
                       ": planner v1.1 leaves its only piece in the partial buffer"));
  return pieces > 1;
}

void V11::append(const V11Request& r, std::int64_t tile, std::int64_t begin, std::int64_t take) {
  const std::size_t slot = cheapest();
  Partials& partials = partials_[static_cast<std::size_t>(r.first_tile + tile)];
  const std::int64_t q_begin = r.q_begin + tile * r.tile_rows;
  const std::int64_t q_end = std::min(q_begin + r.tile_rows, r.q_begin + r.qo_len);
  // A tile without visible keys takes a negative number of them in the original.
  const std::int64_t end = begin + (safe(input_) ? std::max<std::int64_t>(take, 0) : take);
  std::int64_t partial_row = -1;
  if (partials.split) {
    if (partials.pieces++ == 0) partials.first = partial_rows_;
    partials.q_begin = q_begin;
    partials.q_end = q_end;
    partial_row = partial_rows_;
    partial_rows_ += q_end - q_begin;
  }
  placed_.push_back({slot,
                     {.batch = word(r.index),
                      .partial_row = word(partial_row),
                      .q_begin = word(q_begin),
                      .q_end = word(q_end),
                      .kv_begin = word(begin),
                      .kv_end = word(end),
                      .kv_offset = word(r.kv_begin + r.pages - end)}});
  cost_[slot] += v11_cost(r.packed_tile_rows, take);
}

MaybeError V11::place(const V11Request& r, std::int64_t tile) {
  const std::int64_t pages = v11_visible_pages(input_, shape_, r, tile);
  const Result<bool> split = is_split(r, tile, pages);
  if (!split) return split.error();
  partials_[static_cast<std::size_t>(r.first_tile + tile)].split = *split;
  std::int64_t done = 0;
  do {
    const std::int64_t rest = pages - done;
    std::int64_t limit = room(cheapest(), r.packed_tile_rows, pages);
    if (rest > limit && rest - limit <= kAbsorbedTail) limit = rest;
    const std::int64_t take = std::min(rest, limit);
    append(r, tile, r.kv_begin + done, take);
    done += take;
  } while (done < pages);
  return std::nullopt;
}

MaybeError V11::place_all() {
  std::vector<std::int64_t> costs;
  for (const V11Request& r : requests_.list) costs.push_back(v11_cost(r.listed_qo_len, r.pages));
  for (const std::int64_t index : v11_order(costs)) {
    if (index >= static_cast<std::int64_t>(requests_.list.size()))
      return refused(say("the sorting network of planner v1.1 puts padding entry ", index,
                         " before one of the ", requests_.list.size(), " planning requests"));
    const V11Request& r = requests_.list[static_cast<std::size_t>(index)];
    for (std::int64_t tile = 0; tile < r.tiles; ++tile)
      if (MaybeError bad = place(r, tile)) return bad;
  }
  return std::nullopt;
}

// Works of a slot keep the order in which they were placed.
void V11::write_works(Plan& plan) const {
  std::vector<std::int64_t> next(cost_.size() + 1, 0);
  for (const Placed& p : placed_) ++next[p.slot + 1];
  plan.work_indptr.set(0, 0);
  for (std::size_t s = 1; s < next.size(); ++s) {
    next[s] += next[s - 1];
    plan.work_indptr.set(static_cast<std::int64_t>(s), word(next[s]));
  }
  std::vector<const WorkItem*> works(placed_.size());
  for (const Placed& p : placed_) works[static_cast<std::size_t>(next[p.slot]++)] = &p.item;
  std::int64_t place = 0;
  for (const WorkItem* work : works) plan.set_work(place++, *work);
}

Plan V11::write(const BufferSizes& sizes) const {
  Plan plan(sizes);
  write_works(plan);
  plan.reduce_indptr.set(0, 0);
  std::int64_t merged = 0;
  for (std::int64_t t = 0; t < requests_.tiles; ++t) {
    const Partials& p = partials_[static_cast<std::size_t>(t)];
    for (std::int64_t piece = 0; piece < p.pieces; ++piece)
      plan.reduce_partial_map.set(merged++, word(p.first + piece * (p.q_end - p.q_begin)));
    plan.reduce_indptr.set(t + 1, word(merged));
    plan.reduce_final_map.set(2 * t, word(p.q_begin));
    plan.reduce_final_map.set(2 * t + 1, word(p.q_end));
  }
  for (std::int64_t i = requests_.tiles + 1; i < plan.reduce_indptr.size(); ++i)
    plan.reduce_indptr.set(i, word(merged));
  return plan;
}

}  // namespace

Result<Plan> plan_v11(const PlanInput& input, const PlanShape& shape, const BufferSizes& sizes) {
  const Result<V11Requests> requests = v11_requests(input, shape);
  if (!requests) return requests.error();
  V11 planner(input, shape, *requests);
  if (MaybeError bad = planner.place_all()) return *bad;
  return checked_overruns(planner.write(sizes), input.fidelity);
}

}  // namespace mla::plan
