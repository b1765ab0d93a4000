#include "core/plan/tile_straddle.hpp"

#include <algorithm>

#include "core/plan/plan_check_parts.hpp"
#include "core/units.hpp"

namespace mla::plan {

SeenKeys seen_keys(const WorkItem& work, std::int64_t keys, std::int64_t q_end) {
  const std::int64_t up_to = keys + work.kv_offset - q_end;  // and the rows up to a row's own
  return {.keys = keys,
          .first = std::min(keys, up_to + work.q_begin + 1),
          .last = std::min(keys, up_to + work.q_end)};
}

bool straddles_tile(const SeenKeys& seen) {
  const std::int64_t before = (ceil_div(seen.keys, kStraddledTile) - 1) * kStraddledTile;
  return before >= 2 * kStraddledTile && seen.first < before && seen.last > before;
}

std::vector<StraddledWork> straddled_works(const PlanCheckInput& input) {
  std::vector<StraddledWork> found;
  if (!input.causal) return found;
  const std::vector<PlanningRequest> requests = planning_requests(input);
  for (std::int64_t w = 0; w < input.plan.work_indptr.back(); ++w) {
    const WorkItem work = check::record(input, w);
    const PlanningRequest& request = requests[static_cast<std::size_t>(work.batch)];
    std::int64_t keys = (std::int64_t{work.kv_end} - work.kv_begin) * input.page_size;
    if (work.kv_end == request.kv_end)
      keys -= (request.kv_end - request.kv_begin) * input.page_size - request.tokens;
    const SeenKeys seen = seen_keys(work, keys, request.q_end);
    if (straddles_tile(seen)) found.push_back({w, work, seen});
  }
  return found;
}

}  // namespace mla::plan
