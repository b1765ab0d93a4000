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
  if (!knows_seen_keys(input)) return found;
  // What a row sees of a rank's keys is known only where all ranks' are.
  if (input.cp_round_robin && input.dealt.global_kv_indptr.empty()) return found;
  const std::vector<PlanningRequest> requests = planning_requests(input);
  for (std::int64_t w = 0; w < input.plan.work_indptr.back(); ++w) {
    const WorkItem work = input.plan.work(w);
    const PlanningRequest& request = requests[static_cast<std::size_t>(work.batch)];
    std::int64_t keys = (std::int64_t{work.kv_end} - work.kv_begin) * input.page_size;
    if (work.kv_end == request.kv_end)
      keys -= (request.kv_end - request.kv_begin) * input.page_size - request.tokens;
    const std::int64_t before = (std::int64_t{work.kv_begin} - request.kv_begin) * input.page_size;
    const auto sees = [&](std::int64_t row) {
      return std::min(keys, seen_keys(input, request, row) - before);
    };
    const SeenKeys seen = {.keys = keys, .first = sees(work.q_begin), .last = sees(work.q_end - 1)};
    if (straddles_tile(seen)) found.push_back({w, work, seen});
  }
  return found;
}

}  // namespace mla::plan
