#include "core/time/stage1_bound.hpp"

#include <algorithm>
#include <cmath>

#include "core/plan/plan_check.hpp"
#include "core/time/terms.hpp"
#include "core/units.hpp"

namespace mla::timing {
namespace {

constexpr int kHalvings = 60;  // a double has 53 bits
// Above the rounding errors of sums over 100,000 tiles, below what anyone would print.
constexpr double kRounding = 1e-9;

struct Loads {
  double all = 0;
  std::int64_t longest = 0;
};

// (1) to (4) of the theorem.
bool may_end_by(const Stage1Query& query, const Loads& loads, double time) {
  const double left = time - query.piece_us;
  const double shared = query.shared_us * loads.all;
  if (left < std::hypot(query.load_us, shared)) return false;
  const double fits = std::floor(std::sqrt(left * left - shared * shared) / query.load_us);
  const auto slots = static_cast<double>(query.slots);
  if (fits < 1 || loads.all > slots * fits) return false;
  const std::int64_t most =
      fits < static_cast<double>(loads.longest) ? static_cast<std::int64_t>(fits) : loads.longest;
  if (query.most_pieces > 0 && ceil_div(loads.longest, most) > query.most_pieces) return false;
  std::int64_t pieces = 0;
  for (const std::int64_t n : query.tile_loads) pieces += ceil_div(n, most);
  return static_cast<double>(pieces) * query.piece_us +
             loads.all * std::hypot(query.load_us, shared / fits) <=
         slots * time;
}

// Rows of a tile that a kernel takes, as plan_check() has it.
std::int64_t rows_of_tile(const PlanShape& shape, std::int64_t rows) {
  if (!shape.query_split) return rows;
  return std::max({shape.tile_rows(rows), shape.rows_per_workgroup / shape.plan_heads.count(),
                   std::int64_t{1}});
}

}  // namespace

double stage1_bound(const Stage1Query& query) {
  Loads loads;
  for (const std::int64_t n : query.tile_loads) {
    loads.all += static_cast<double>(n);
    loads.longest = std::max(loads.longest, n);
  }
  if (query.tile_loads.empty()) return 0;
  double low = 0;
  double high = query.piece_us + std::hypot(query.load_us, query.shared_us * loads.all);
  while (!may_end_by(query, loads, high)) low = high, high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (may_end_by(query, loads, middle) ? high : low) = middle;
  }
  return low * (1 - kRounding);
}

double stage1_bound_us(const PlannedStep& step, const TimeConstants& constants,
                       const TileCost& tile) {
  const plan::PlanCheckInput& in = step.check;
  Stage1Query query{.tile_loads = {},
                    .slots = std::min(std::ssize(in.plan.work_indptr) - 1, step.units.count())};
  std::int64_t least_rows = 0;  // packed rows of the largest tile, if they are as small as can be
  for (const plan::PlanningRequest& r : plan::planning_requests(in)) {
    const std::int64_t rows = r.q_end - r.q_begin;
    const std::int64_t seen = in.causal ? r.tokens - rows + 1 : r.tokens;
    if (rows == 0 || seen <= 0) continue;
    const std::int64_t tiles = ceil_div(rows, rows_of_tile(in.shape, rows));
    least_rows =
        std::max(least_rows, (in.shape.tiles(rows) == 1 ? rows : 1) * in.shape.plan_heads.count());
    query.tile_loads.insert(query.tile_loads.end(), static_cast<std::size_t>(tiles),
                            ceil_div(seen, constants.tile_keys));
  }
  const Stage1Costs costs = stage1_costs(constants, tile, least_rows, 0);
  const auto keys = static_cast<double>(constants.tile_keys);
  query.piece_us = costs.piece_us;
  query.load_us = costs.key_us * keys;
  query.shared_us = std::hypot(costs.memory_us, costs.matrix_us) * keys;
  return stage1_bound(query);
}

}  // namespace mla::timing
