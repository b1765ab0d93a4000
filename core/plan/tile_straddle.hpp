// Works whose rows end on both sides of the last tile of 32 keys: gfx950
// `a16w16_qh64_qseqlen1_gqaratio64_v3_ps` reads that tile's keys from wrong places (AITER-27).
//
// The kernel masks the last two of its tiles where the first row does not see all of them. Masking
// the last but one overwrites the addresses of the last one's keys, which does not matter where no
// row sees those. A work of two tiles escapes: its last tile is read before.
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/plan_check.hpp"

namespace mla::plan {

// Keys of a work, and how many of them its first and its last row see.
struct SeenKeys {
  std::int64_t keys = 0;
  std::int64_t first = 0;  // below 0 where that many more would have to come before it sees one
  std::int64_t last = 0;
};

inline constexpr std::int64_t kStraddledTile = 32;  // keys

// `keys` are those of the work, `q_end` the end of its request's rows.
SeenKeys seen_keys(const WorkItem& work, std::int64_t keys, std::int64_t q_end);
bool straddles_tile(const SeenKeys& seen);

struct StraddledWork {
  std::int64_t index = 0;  // in work_info_set
  WorkItem work;
  SeenKeys seen;
};
// Those of a plan in which plan_check finds nothing. None of a rank whose keys among those of all
// ranks are not known.
std::vector<StraddledWork> straddled_works(const PlanCheckInput& input);

}  // namespace mla::plan
