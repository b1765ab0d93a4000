// Minimise: from a failing case to a simplest one that still fails.
//
// Walks RapidCheck's tree of simpler cases greedily: the first simpler case that fails becomes the
// case. The caller says what counts as failing, so a shrink never slides from one claim to another.
// Deterministic: limited by the number of cases tried; `stopped` ends it early. A case
// whose simpler cases all pass is its own minimum.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/case/case.hpp"
#include "properties/judge/judge.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

struct Minimum {
  Case smallest;
  Outcome outcome;           // of the smallest case
  std::int64_t shrinks = 0;  // steps that kept failing
  std::int64_t tried = 0;    // cases looked at
  bool cut = false;          // stopped before it was done
};

// What fails about a case, or nothing if it does not fail.
using Fails = std::function<std::optional<Outcome>(const Case&)>;

Minimum minimise(const Case& failing, Outcome outcome, const Fails& fails, std::int64_t max_tries,
                 const Stopped& stopped);

}  // namespace mla::prop
