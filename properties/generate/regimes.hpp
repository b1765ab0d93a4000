// Regimes: the kinds of steps that the random cases of a run take turns in.
//
// Of ten cases five are small and sit at boundaries (random_domain()), one sits at the tiles of the
// decode kernels, two are sequences. Two have the shape of a real engine's step, one regime after
// the other, so that every run of some size has all of them. A regime is a CaseDomain: data, no
// code of its own. Budgets are in units of cost_of().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "properties/generate/domain.hpp"

namespace mla::prop {

enum class Regime : std::uint8_t {
  boundary,         // small, at the boundaries of blocks, granules, tiles, formats
  tiles,            // decode tiles full and nearly full, loud data, page 0 in use
  sequence,         // two to four steps on the same buffers
  wide,             // 64 packed rows and more, 129 to 1100 keys
  batch,            // 17 to 48 requests of 200 keys and more
  large_batch,      // 64 to 512 requests, padded to a graph's size
  long_context,     // 8k to 32k keys
  device,           // 305 to 1024 compute units
  gate,             // around the 32 requests from which a batch may run without a plan
  raised,           // rows raised to a listed query length (field qpad)
  engine,           // batches to 4096 requests, contexts to 128k: plans and lists only
  wide_prefill,     // prefill of 32 to 128 heads
  planned_prefill,  // prefill with a plan of the fp8 kernel
  wide_fa,          // FA of 16 to 64 heads, windows to 4095, contexts to 2048 keys
};
std::string_view name(Regime regime);
std::span<const Regime> all_regimes();

// The regime of the random case with this number in a run. Without `production` it is one of the
// small ones: boundary, tiles in one case of four, or in one of twenty a prefill with a plan, which
// is all the prefill that some devices have.
Regime regime_of(std::int64_t number, bool production);

// Its cases. `size` from 0 to 100 is RapidCheck's and read for the small ones.
CaseDomain regime_domain(Regime regime, int size);

}  // namespace mla::prop
