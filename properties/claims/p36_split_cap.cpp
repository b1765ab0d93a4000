// P36: no plan cuts further than its split budget allows (aiter.md 3.2 to 3.4).
//
// v1.2 spreads a batch over `max_split` slots a planning request, and cuts a tile only where a slot
// ends; so the slots in use are the cap. v1.1 has no cap but the slots of the device, and v1.0 cuts
// each request of gfx942 in 16: where that is more than was asked for, the step must be refused.
// The split route takes at most 16, or what the caller asks for.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kMostSplits = 16;  // of the split route, and of v1.0 on gfx942

// Pieces of every tile, which its request and first row name.
using Pieces = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

std::string tile_name(const plan::WorkItem& item) {
  return say("the tile of planning request ", item.batch, " at row ", item.q_begin);
}

Outcome check_pieces(const plan::Plan& plan, std::int64_t cap) {
  Pieces pieces;
  for (std::int64_t w = 0; w < plan.works(); ++w) {
    const plan::WorkItem item = plan.work(w);
    if (++pieces[{item.batch, item.q_begin}] > cap)
      return failed(say(tile_name(item), " is cut into more than ", cap, " pieces"));
  }
  return passed();
}

Outcome check_slots(const plan::Plan& plan, std::int64_t budget) {
  std::int64_t used = 0;
  for (std::int64_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    const std::int64_t begin = plan.work_indptr.at(slot);
    const std::int64_t end = plan.work_indptr.at(slot + 1);
    used += end > begin ? 1 : 0;
    Pieces pieces;
    for (std::int64_t w = begin; w < end; ++w) {
      const plan::WorkItem item = plan.work(w);
      if (++pieces[{item.batch, item.q_begin}] > 1)
        return failed(say("slot ", slot, " has two pieces of ", tile_name(item)));
    }
  }
  if (used > budget)
    return failed(
        say("the plan spreads the keys over ", used, " slots, the split budget is ", budget));
  return passed();
}

// The split route takes the count that keeps the compute units busiest for what each split costs
// (aiter.md 4), the smallest one where several do; an fp8 query at most that.
std::int64_t best_split_count(const ResolvedShape& shape, const Batch& batch) {
  double keys = 0;
  for (const RequestSpec& r : batch.requests)
    if (r.qo_len > 0) keys += static_cast<double>(r.kv_len);  // no other key is listed
  const auto requests = static_cast<double>(batch.requests.size());
  const auto units = static_cast<double>(shape.compute_units.count());
  const auto worth = [&](std::int64_t splits) {
    const double groups = requests * static_cast<double>(splits);
    const double busy = groups / (std::ceil(groups / units) * units);
    return busy * (keys / requests) / (keys / requests + 84.1 * static_cast<double>(splits));
  };
  std::int64_t best = 1;
  for (std::int64_t splits = 2; splits <= kMostSplits; ++splits)
    if (worth(splits) > worth(best)) best = splits;
  return best;
}

Outcome check_split_route(const ResolvedShape& shape, const Batch& batch, std::int64_t asked) {
  if (asked > 0 && shape.kv_splits != asked)
    return failed(
        say("every request gets ", shape.kv_splits, " splits, the case asks for ", asked));
  if (asked > 0) return passed();
  const std::int64_t best = best_split_count(shape, batch);
  const bool fp8 = shape.dtype.q == Dtype::fp8;
  if (shape.kv_splits == best || (fp8 && shape.kv_splits >= 1 && shape.kv_splits < best))
    return passed();
  return failed(say("every request gets ", shape.kv_splits, " splits, the best are ", best));
}

// Without a key no split is worth anything: one is the fewest (aiter.md 4).
std::optional<std::string> keyless_batch_split(const Functions& functions, Random& random) {
  const std::int64_t requests = random.between(1, 40);
  const auto splits = functions.split_count(
      {ComputeUnits(304), Requests(requests), Tokens(0), Heads(16), 1, {Dtype::bf16, Dtype::bf16}});
  if (splits && *splits == 1) return std::nullopt;
  return say(requests, " requests without a key ",
             splits ? say("get ", *splits, " splits") : splits.error().message);
}

Outcome decode_split_cap(Subject& subject) {
  Random random(subject.spec(), "P36");
  if (const auto why = keyless_batch_split(functions_of(subject), random)) return failed(*why);
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  const Case& c = subject.spec();
  const ResolvedShape& shape = metadata->shape;
  if (!metadata->plan) return check_split_route(shape, *subject.batch(), c.decode().kv_splits);
  const std::int64_t slots = shape.plan.slots.count();
  const std::int64_t asked = c.decode().max_split;
  const auto planned = std::ssize(kernel_requests(*subject.batch(), shape));
  const std::int64_t budget =
      asked < 0 ? slots : std::min(slots, asked * planned * shape.plan.fold_ratio);
  switch (shape.planner) {
    case plan::PlannerVersion::v1_0: {
      const std::int64_t most = c.arch == Arch::gfx942 ? kMostSplits : asked;
      return check_pieces(*metadata->plan, asked < 0 ? most : std::min(most, asked));
    }
    case plan::PlannerVersion::v1_1:
      return check_pieces(*metadata->plan, budget);
    case plan::PlannerVersion::v1_2:
      break;
  }
  return check_slots(*metadata->plan, budget);
}

}  // namespace

constexpr Property kP36{"P36", "split_cap", "No plan cuts further than its split budget allows.",
                        by_kind<decode_split_cap, nullptr, nullptr>};

}  // namespace mla::prop
