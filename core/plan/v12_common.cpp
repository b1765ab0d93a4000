#include "core/plan/v12_common.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/plan/checks.hpp"
#include "core/say.hpp"

namespace mla::plan {
namespace {

// Rows of the longest request.
std::int64_t longest(const PlanInput& input) {
  if (!ragged(input)) return input.uniform_qo_len;
  std::int64_t rows = 0;
  for (std::size_t r = 0; r + 1 < input.qo_indptr.size(); ++r)
    rows = std::max(rows, std::int64_t{input.qo_indptr[r + 1]} - input.qo_indptr[r]);
  return rows;
}

// A launch chooses its kernel by the longest request. A planner that is not told of it folds heads
// and cuts rows for a kernel that may be another one.
MaybeError check_untold(const PlanInput& input, const PlanShape& shape) {
  if (!safe(input) || sparse(input) || input.key.max_qo_len > 0) return std::nullopt;
  const std::int64_t rows = longest(input);
  if (rows < 1) return std::nullopt;
  PlanKey key = input.key;
  key.max_qo_len = rows;
  const auto launched = resolve_plan_shape(key);
  if (!launched) return launched.error();
  if (launched->fold_ratio == shape.fold_ratio &&
      launched->tile_rows(rows) == shape.tile_rows(rows))
    return std::nullopt;
  const auto tiles = [rows](const PlanShape& s) {
    return say("tiles of ", s.tile_rows(rows), " rows of ", s.plan_heads.count(), " heads");
  };
  return refused(say("max_qo_len = ", input.key.max_qo_len, " for requests of up to ", rows,
                     " rows: planned would be ", tiles(shape), ", and their kernel takes ",
                     tiles(*launched)));
}

}  // namespace

MaybeError check_v12(const PlanInput& input, const PlanShape& shape) {
  if (MaybeError bad = check_form(input, shape, PlannerVersion::v1_2)) return bad;
  if (split_budget(input, shape) < 1)
    return refused(say("max_split_per_batch = ", input.max_split_per_batch, " for ", input.batch(),
                       " requests leaves 0 splits, and the planner divides by that number"));
  if (MaybeError bad = check_untold(input, shape)) return bad;
  return check_safe(input, PlannerVersion::v1_2);
}

MaybeError check_parallel(const PlanInput& input, const PlanShape& shape) {
  const auto unfit = [](const std::string& what) {
    return Error{ErrorCode::unsupported, "the parallel kernel of planner v1.2 cannot plan " + what};
  };
  if (input.key.max_qo_len != 1) return unfit(say("max_qo_len ", input.key.max_qo_len));
  if (shape.query_split) return unfit("split queries");
  if (shape.fold_ratio != 1) return unfit(say("heads folded ", shape.fold_ratio, " to 1"));
  if (sparse(input)) return unfit(say("sparse keys, topk = ", input.topk));
  if (input.page_size != 1) return unfit(say("page_size ", input.page_size));
  // Three scalars, five running values a request, and the query length of a ragged one.
  const std::int64_t bytes = 4 * (3 + (ragged(input) ? 6 : 5) * input.batch());
  if (bytes > scratch_bytes(input.key.arch))
    return unfit(say(input.batch(), " requests in ", scratch_bytes(input.key.arch),
                     " bytes of scratch memory"));
  return std::nullopt;
}

std::int64_t split_budget(const PlanInput& input, const PlanShape& shape) {
  const std::int64_t slots = shape.slots.count();
  if (input.max_split_per_batch < 0) return slots;
  return std::min(slots, input.max_split_per_batch * input.batch() * shape.fold_ratio);
}

}  // namespace mla::plan
