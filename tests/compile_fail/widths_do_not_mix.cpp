// Latent, rope and value widths are types of their own: exchanged, they do not compile.
#include "core/row_widths.hpp"

int main() {
  using namespace mla;
#ifdef MLA_BREAK
  const RowWidths widths(RopeDims(64), LatentDims(512), ValueDims(512));
#else
  const RowWidths widths(LatentDims(512), RopeDims(64), ValueDims(512));
#endif
  return widths == kBuiltIn ? 0 : 1;
}
