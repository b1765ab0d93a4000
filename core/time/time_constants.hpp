// TimeConstants: what was fitted to published times, one row for each kernel family.
//
// A family is an architecture, the dtypes, and whether the step has a plan. Every constant has a
// meaning and a unit; the values and how well they fit stand in docs/findings/time.md, and
// tests/time/fit.py makes them. Nothing here was measured by this project.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/arch.hpp"

namespace mla::timing {

// A kernel, by the packed rows that its workgroup holds.
struct TileCost {
  std::int64_t packed_rows = 0;    // the largest tile it takes
  double piece_us = 0;             // what a work costs whatever its keys: prologue, output
  double key_ns = 0;               // one key, if nothing else uses the memory
  double matrix_flops_per_us = 0;  // of all units together, if that limits; 0: it does not
  std::int64_t most_requests = 0;  // largest batch that was fitted; 0: none, the row is a guess
};

struct TimeConstants {
  std::string_view name = {};
  Arch arch = Arch::gfx950;
  DtypePair dtype = {};
  bool planned = true;
  std::int64_t units = 0;           // compute units of the devices that were timed
  std::int64_t tile_keys = 0;       // keys that the kernel loads at a time
  std::array<TileCost, 4> tiles{};  // ascending; unused ones are all zero
  double idle_us = 0;               // a workgroup without keys
  double memory_bytes_per_us = 0;   // of all units together
  double reduce_start_us = 0;       // if something is merged
  double reduce_piece_us = 0;       // each piece of the longest merge: they come one after another
  double reduce_bytes_per_us = 0;   // of the partial results
  double launch_us = 0;             // the rest of a call; differs by source (docs/findings/time.md)
  std::int64_t least_keys = 0;      // of a request, fitted
  std::int64_t most_keys = 0;
  double error = 0;        // half-width of the interval, as a share; 9 of 10 published times
  double guess_error = 0;  // the same outside of the fitted shapes of the family
};

std::span<const TimeConstants> time_constants();

}  // namespace mla::timing
