#include "properties/claims/support/topology.hpp"

#include <algorithm>

namespace mla::prop {
namespace {

// The same without the leading rows of a launch.
Topology of_query_rows(const DecodeMetadata& md, Topology launch) {
  const ResolvedShape& shape = md.shape;
  if (shape.leading_rows == 0) return launch;
  Topology t;
  const std::int64_t live = shape.uniform_qo_len - shape.leading_rows;
  for (std::int64_t row = 0; row < md.requests().count() * live; ++row)
    t.pieces.push_back(std::move(launch.pieces[static_cast<std::size_t>(shape.launch_row(row))]));
  return t;
}

}  // namespace

Topology topology_of(const DecodeMetadata& md) {
  const ResolvedShape& shape = md.shape;
  const std::int64_t rows = md.rows().count();
  Topology t;
  t.pieces.resize(static_cast<std::size_t>(std::max<std::int64_t>(rows, 0)));
  if (!md.plan) {
    for (auto& row : t.pieces) row = {{shape.kv_splits, shape.split_granularity}};
    return of_query_rows(md, std::move(t));
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
  return of_query_rows(md, std::move(t));
}

}  // namespace mla::prop
