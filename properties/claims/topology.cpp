#include "properties/claims/topology.hpp"

#include <algorithm>

namespace mla::prop {

Topology topology_of(const DecodeMetadata& md) {
  const ResolvedShape& shape = md.shape;
  const std::int64_t rows = md.rows().count();
  Topology t;
  t.pieces.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows, 0)));
  if (!md.plan) {
    for (auto& row : t.pieces) row = {{shape.kv_splits, shape.split_granularity}};
    return t;
  }
  const std::int64_t fold = shape.fold_ratio();
  for (std::int64_t w = 0; w < md.plan->works(); ++w) {
    const plan::WorkItem item = md.plan->work(w);
    const std::int64_t request = item.batch / fold;
    if (item.batch < 0 || request >= md.requests().count()) continue;
    // Groups of a folded request may be cut differently: their pieces follow group by group.
    const std::int64_t first = md.qo_indptr[static_cast<std::size_t>(request)];
    const std::int64_t q = md.qo_indptr[static_cast<std::size_t>(request) + 1] - first;
    const std::int64_t shift = fold == 1 ? 0 : item.batch * q - first;
    const std::int64_t base = md.kv_indptr[static_cast<std::size_t>(request)];
    for (std::int64_t row = item.q_begin - shift; row < item.q_end - shift; ++row)
      if (row >= 0 && row < rows)
        t.pieces[static_cast<std::size_t>(row)].emplace_back(item.kv_begin - base,
                                                             item.kv_end - base);
  }
  return t;
}

}  // namespace mla::prop
