#include "core/time/predict.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "core/say.hpp"

namespace mla::timing {
namespace {

constexpr double kFinalBytesOfRow = 2.0 * kBuiltIn.value().count();  // bf16

double key_bytes(const StepLoad& load) {
  return static_cast<double>(load.widths.key_bytes(load.dtype.kv));
}
double query_bytes(const StepLoad& load) {
  return static_cast<double>(load.widths.key_bytes(load.dtype.q));
}

void add_piece(SlotLoad& slot, const Piece& piece, std::int64_t tile_keys) {
  if (piece.keys == 0) {
    ++slot.idle;
    return;
  }
  ++slot.pieces;
  slot.keys += round_up(piece.keys, tile_keys);
}

double alone_us(const SlotLoad& slot, const TimeConstants& c, const TileCost& tile) {
  return static_cast<double>(slot.pieces) * tile.piece_us +
         static_cast<double>(slot.idle) * c.idle_us +
         static_cast<double>(slot.keys) * tile.key_ns / 1000;
}

std::vector<SlotLoad> dispatched(const StepLoad& load, const TimeConstants& c) {
  const TileCost& tile = tile_cost(c, load);
  using Free = std::pair<double, std::size_t>;  // when, which unit
  std::priority_queue<Free, std::vector<Free>, std::greater<>> units;
  std::vector<SlotLoad> slots(static_cast<std::size_t>(load.units.count()));
  for (std::size_t u = 0; u < slots.size(); ++u) units.push({0, u});
  for (const Piece& piece : load.workgroups) {
    const auto [when, unit] = units.top();
    units.pop();
    SlotLoad one;
    add_piece(one, piece, c.tile_keys);
    add_piece(slots[unit], piece, c.tile_keys);
    units.push({when + alone_us(one, c, tile), unit});
  }
  std::erase_if(slots, [](const SlotLoad& s) { return s.pieces == 0 && s.idle == 0; });
  return slots;
}

// Why the shape lies beyond what its row of the table was fitted to; empty if it does not.
std::string beyond_of(const StepLoad& load, const TimeConstants& c) {
  const TileCost& tile = tile_cost(c, load);
  if (tile.most_requests == 0)
    return say("no published time of tiles of ", load.tile_rows, " rows");
  if (load.shortest_keys != load.longest_keys)
    return say("requests of ", load.shortest_keys, " to ", load.longest_keys,
               " keys; published times are of equal ones");
  if (load.requests > tile.most_requests)
    return say(load.requests, " requests; published times have at most ", tile.most_requests);
  if (load.shortest_keys < c.least_keys || load.longest_keys > c.most_keys)
    return say(load.longest_keys, " keys; published times have ", c.least_keys, " to ",
               c.most_keys);
  if (load.page_size != 1) return say("pages of ", load.page_size, " tokens; published are of 1");
  if (load.planned && load.granularity != 16)
    return say("granularity ", load.granularity, "; published plans have 16");
  if (load.most_tiles > 2)
    return say(load.most_tiles, " works read the same keys; published shapes have at most 2");
  return {};
}

}  // namespace

Result<const TimeConstants*> constants_for(const StepLoad& load) {
  const auto none = [](std::string why) {
    return Error{ErrorCode::unsupported, "outside of the fitted range: " + std::move(why)};
  };
  if (load.requests == 0) return none("no request has rows and keys");
  if (load.dealt) return none("no published times of keys that are dealt to ranks");
  if (!load.widths.same_tensors(kBuiltIn))
    return none(say("no published times of rows of ", text_of(load.widths)));
  for (const TimeConstants& c : time_constants()) {
    if (c.arch != load.arch || c.dtype != load.dtype || c.planned != load.planned) continue;
    if (load.units.count() != c.units)
      return none(say(load.units.count(), " compute units; published times are of ", c.units));
    const std::int64_t most = std::ranges::max(c.tiles, {}, &TileCost::packed_rows).packed_rows;
    if (load.tile_rows > most)
      return none(say("tiles of ", load.tile_rows, " rows; the table has at most ", most));
    return &c;
  }
  return none(say("no published times of ", name(load.arch), " ", name(load.dtype.q), "/",
                  name(load.dtype.kv), load.planned ? " with a plan" : " without a plan"));
}

const TileCost& tile_cost(const TimeConstants& constants, const StepLoad& load) {
  return *std::ranges::find_if(constants.tiles, [&load](const TileCost& tile) {
    return tile.packed_rows >= load.tile_rows;
  });
}

std::vector<SlotLoad> slot_loads(const StepLoad& load, const TimeConstants& constants) {
  if (!load.planned) return dispatched(load, constants);
  std::vector<SlotLoad> slots;
  for (const auto& works : load.slots) {
    SlotLoad slot;
    for (const Piece& piece : works) add_piece(slot, piece, constants.tile_keys);
    slots.push_back(slot);
  }
  return slots;
}

std::int64_t moved_rows(const StepLoad& load) {
  std::int64_t rows = 0;
  for (const auto& slot : load.slots)
    for (const Piece& piece : slot) rows += piece.packed_rows;
  for (const Piece& piece : load.workgroups)
    if (piece.keys > 0) rows += piece.packed_rows;
  return rows;
}

Prediction predict_with(const StepLoad& load, const TimeConstants& c) {
  const std::vector<double> times = slot_times(
      slot_loads(load, c), stage1_costs(c, tile_cost(c, load), load.tile_rows, moved_rows(load)));
  double sum = 0;
  for (const double t : times) sum += t;
  const double slowest = std::ranges::max(times);
  const double even = std::min(slowest, sum / static_cast<double>(times.size()));
  Prediction out{.launch_us = c.launch_us,
                 .stage1_us = even,
                 .imbalance_us = slowest - even,
                 .reduce_us = reduce_us(c, load.longest_merge, load.partial_rows)};
  out.roofline_us =
      (static_cast<double>(load.keys) * key_bytes(load) +
       static_cast<double>(load.packed_rows) * (query_bytes(load) + kFinalBytesOfRow)) /
      c.memory_bytes_per_us;
  out.beyond = beyond_of(load, c);
  const double error = out.beyond.empty() ? c.error : c.guess_error;
  out.low_us = out.total_us() / (1 + error);
  out.high_us = out.total_us() * (1 + error);
  return out;
}

Result<Prediction> predict(const StepLoad& load) {
  const auto constants = constants_for(load);
  if (!constants) return constants.error();
  return predict_with(load, **constants);
}

}  // namespace mla::timing
