// KeyTarget: a key near the causal edge of a request, and which rows may see its slot.
//
// P13 and P37 change that key. Positions are tokens of the request, slots are those of the cache.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"

namespace mla::prop {

struct KeyTarget {
  std::int64_t request = -1;  // -1: no request has a row and a key
  std::int64_t position = 0;
  std::int64_t slot = 0;
};

// One of the last `qo_len` keys of the request with the most rows, which for all but the first of
// them are hidden from some of its rows. `claim` chooses among them.
KeyTarget key_of_last_rows(const Case& c, const Batch& batch, std::string_view claim);

// Whether row i of a request may read `slot`, by the causal rule alone.
bool may_see(const Case& c, const Batch& batch, std::int64_t request, std::int64_t i,
             std::int64_t slot);

}  // namespace mla::prop
