// Another plan of the same tiles, cut at drawn pages: also so that rows see no key of a piece.
#pragma once

#include "core/engine/decode_metadata.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::test {

struct Recut {
  plan::Plan plan;
  std::int64_t partial_rows = 0;
  // Pieces of which a causal row sees no key.
  std::int64_t keyless = 0;
};
// With `all` every tile that has two pages is cut.
Recut recut(const DecodeMetadata& md, prop::Random& random, bool all);

// Whether a reduce without a final map merges the same: tiles of as many rows, one after the other,
// and the first two pieces of each as far apart.
bool needs_no_map(const plan::Plan& plan);

}  // namespace mla::test
