// The scratch that batches within the limits of a prefill engine need, in bytes: for P22 and P23.
#pragma once

#include <vector>

#include "properties/claims/support/support.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {

struct WorstScratch {
  std::int64_t tiles = 0;  // partial tiles
  std::size_t bytes = 0;
};

// Engines with fp8 prefill: with the case's own limits, a small one, and one for a single request
// with context.
std::vector<prefill::EngineConfig> configs_of(const Subject& subject);

// The most that any of some batches that fill the limits needs; an error if one does not fit its
// buffers.
Result<WorstScratch> worst_scratch(const prefill::EngineConfig& config, const prefill::Hooks& hooks,
                                   Random& random);

}  // namespace mla::prop
