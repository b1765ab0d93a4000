// P35: no slot gets more than its share: the payload that planner v1.2 promises, and the tail that
// a last piece may absorb (aiter.md 3.2). The same on a device with more slots than any product has
// compute units today. And no plan beats the proven bound on its busiest slot, which would show
// that a work is lost or the bound is wrong.
#include <algorithm>

#include "core/say.hpp"
#include "core/time/makespan_bound.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

struct Share {
  std::int64_t overhead = 0;  // blocks that every work costs
  std::int64_t payload = 0;   // blocks of a slot, overheads included
  std::int64_t tail = 0;      // blocks that a work may absorb beyond it
  std::int64_t least = 0;     // blocks that the busiest slot of any plan has, overheads included
};

// From the lengths of the batch and the case's own split budget, not from what the planner was
// told.
Share fair_share(const Case& c, const Batch& batch, const ResolvedShape& shape) {
  Share share;
  share.overhead = ceil_div(16, shape.page_size);
  const auto requests = kernel_requests(batch, shape);
  const std::int64_t fold = shape.plan.fold_ratio;
  std::int64_t demand = 0;
  timing::MakespanQuery query{.slots = shape.plan.slots.count(), .piece_cost = share.overhead};
  for (const KernelRequest& r : requests) {
    const std::int64_t pages = ceil_div(r.kv_len, shape.page_size);
    demand += (ceil_div(pages, c.decode().granularity) + share.overhead) *
              shape.plan.tiles(r.qo_len) * fold;
    // Each tile has a row that sees what the request's first row sees, or more.
    const std::int64_t seen = r.kv_len - r.qo_len + 1;
    const std::int64_t tile_rows = std::max<std::int64_t>(1, shape.plan.tile_rows(r.qo_len));
    if (r.qo_len > 0 && seen > 0)
      query.tile_blocks.insert(query.tile_blocks.end(),
                               static_cast<std::size_t>(ceil_div(r.qo_len, tile_rows) * fold),
                               seen / (c.decode().granularity * shape.page_size));
  }
  const std::int64_t slots = shape.plan.slots.count();
  const auto planned = static_cast<std::int64_t>(requests.size()) * fold;
  const std::int64_t budget =
      c.decode().max_split < 0 ? slots : std::min(slots, c.decode().max_split * planned);
  share.payload = ceil_div(demand, budget) + share.overhead;
  share.least = timing::makespan_bound(query);
  share.tail = ceil_div(ceil_div(shape.max_qo_len, shape.page_size), c.decode().granularity);
  return share;
}

Case on_wide_device(const Case& c) {
  Random random(c, "P35");
  Case wide = c;
  wide.compute_units = random.pick(std::vector<std::int64_t>{305, 512, 608, 1024});
  wide.decode().granularity = 1;  // so that a few hundred keys fill as many slots
  return wide;
}

Outcome check_shares(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (!metadata->plan || metadata->shape.planner != plan::PlannerVersion::v1_2)
    return skipped("the share is that of planner v1.2");
  const Share share = fair_share(subject.spec(), *subject.batch(), metadata->shape);
  const plan::Plan& plan = *metadata->plan;
  std::int64_t busiest = 0;
  for (std::int64_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    std::int64_t blocks = 0;
    for (std::int64_t w = plan.work_indptr.at(slot); w < plan.work_indptr.at(slot + 1); ++w) {
      const plan::WorkItem item = plan.work(w);
      blocks += ceil_div(item.kv_end - item.kv_begin, subject.spec().decode().granularity) +
                share.overhead;
    }
    busiest = std::max(busiest, blocks);
    if (blocks > share.payload + share.tail)
      return failed(say("slot ", slot, " gets ", blocks, " blocks, its share is ", share.payload,
                        " and a tail of ", share.tail));
  }
  if (busiest < share.least)
    return failed(say("the busiest slot gets ", busiest,
                      " blocks, and no plan of these requests has "
                      "less than ",
                      share.least));
  return passed();
}

Outcome decode_balance(Subject& subject) {
  Outcome here = check_shares(subject);
  if (here.verdict != Verdict::pass) return here;
  Subject wide = subject.sibling(on_wide_device(subject.spec()));
  Outcome there = check_shares(wide);
  if (there.verdict != Verdict::fail) return here;  // refused: then only the first says something
  there.message = "as " + format_case(wide.spec()) + ": " + there.message;
  return there;
}

}  // namespace

constexpr Property kP35{
    "P35", "balance",
    "No slot gets more than the planner's payload and one tail, and the busiest no "
    "less than the proven bound.",
    by_kind<decode_balance, nullptr, nullptr>};

}  // namespace mla::prop
