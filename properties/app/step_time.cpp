#include "properties/app/step_time.hpp"

#include <algorithm>
#include <cmath>

#include "core/case/batch.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "core/time/makespan_bound.hpp"

namespace mla::app {
namespace {

constexpr std::int64_t kCaps[] = {-1, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256};
constexpr std::int64_t kMostSplits = 16;  // that AITER's wrapper considers

Result<TimedStep> timed(const Case& c) {
  const auto batch = make_batch(c);
  if (!batch) return batch.error();
  const auto shape = resolve_shape(c, *batch);
  if (!shape) return shape.error();
  DecodeBuffers buffers = make_decode_buffers(c, *batch, *shape);
  const DecodeBuilderOptions options{.max_requests = 0, .fill_tail = false};
  const auto metadata =
      DecodeMetadataBuilder(options, StepHooks::none()).build(*batch, *shape, buffers);
  if (!metadata) return metadata.error();
  timing::StepLoad load = timing::load_of(*metadata);
  auto predicted = timing::predict(load);
  return TimedStep{c, std::move(load), std::move(predicted)};
}

// The tiles of the step, at the fewest keys that their rows see, in whole blocks: a real work
// costs no less.
Result<double> bound_us(const Case& c, const TimedStep& step,
                        const timing::TimeConstants& constants) {
  const auto batch = make_batch(c);
  if (!batch) return batch.error();
  const auto shape = resolve_shape(c, *batch);
  if (!shape) return shape.error();
  const timing::TileCost& tile = timing::tile_cost(constants, step.load);
  timing::MakespanQuery query{.tile_blocks = {}, .slots = shape->plan.slots.count()};
  const std::int64_t block_keys = shape->granularity * shape->page_size;
  std::int64_t planned = 0;
  for (const RequestSpec& r : batch->requests) {
    if (r.qo_len == 0 || r.kv_len == 0) continue;
    const bool by_row = shape->route == Route::persistent_rows;
    const std::int64_t rows = by_row ? 1 : r.qo_len;
    const std::int64_t seen = std::max<std::int64_t>(0, r.kv_len - r.qo_len + 1);
    const std::int64_t tiles =
        shape->plan.tiles(rows) * shape->plan.fold_ratio * (by_row ? r.qo_len : 1);
    planned += shape->plan.fold_ratio * (by_row ? r.qo_len : 1);
    query.tile_blocks.insert(query.tile_blocks.end(), static_cast<std::size_t>(tiles),
                             seen / block_keys);
  }
  if (shape->max_split > 0) query.slots = std::min(query.slots, shape->max_split * planned);
  // Picoseconds, rounded down.
  query.piece_cost = static_cast<std::int64_t>(tile.piece_us * 1e6);
  query.block_cost = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(tile.key_ns * 1e3 * static_cast<double>(block_keys)));
  return static_cast<double>(timing::makespan_bound(query)) / 1e6;
}

Case other_way(const Case& c, bool planned) {
  Case other = c;
  other.planner = planned ? PlannerChoice::none : PlannerChoice::automatic;
  other.decode().kv_splits = 0;
  return other;
}

std::vector<SplitChoice> split_choices(const TimedStep& step) {
  std::vector<SplitChoice> out;
  const auto attempt = [&out](const Case& c, std::int64_t splits) {
    const auto one = timed(c);
    if (one && one->predicted) out.push_back({splits, one->predicted->total_us()});
  };
  Case c = step.spec;
  if (step.load.planned) {
    for (const std::int64_t cap : kCaps) {
      c.decode().max_split = cap;
      attempt(c, cap);
    }
    return out;
  }
  for (std::int64_t splits = 1; splits <= kMostSplits; ++splits) {
    c.decode().kv_splits = splits;
    attempt(c, splits);
  }
  return out;
}

}  // namespace

Result<StepTime> time_step(const Case& c, bool others) {
  if (c.kind() != StepKind::decode)
    return Error{ErrorCode::unsupported,
                 say("time predicts decode steps, not a step of kind ", name(c.kind()))};
  if (!c.later_steps.empty())
    return Error{ErrorCode::unsupported,
                 say("time predicts one step, not a sequence of ", c.later_steps.size() + 1)};
  auto step = timed(c);
  if (!step) return step.error();
  StepTime out{*step, std::nullopt, std::nullopt, {}};
  if (others) out.other_route = timed(other_way(c, step->load.planned));
  const auto constants = timing::constants_for(step->load);
  if (!constants) return out;
  if (step->load.planned) {
    const auto bound = bound_us(c, *step, **constants);
    if (!bound) return bound.error();
    out.stage1_bound_us = *bound;
  }
  if (others) out.choices = split_choices(*step);
  return out;
}

}  // namespace mla::app
