#include "core/time/step_load.hpp"

#include <algorithm>
#include <map>

#include "core/shape/split_count.hpp"

namespace mla::timing {
namespace {

void count_requests(const DecodeMetadata& m, StepLoad& load) {
  const std::int64_t heads = m.shape.heads.kernel.count();
  for (std::size_t r = 0; r + 1 < m.qo_indptr.size(); ++r) {
    const std::int64_t rows = m.qo_indptr[r + 1] - m.qo_indptr[r];
    const std::int64_t keys = m.kv_lens[r];
    if (rows == 0 || keys == 0) continue;
    load.shortest_keys = load.requests == 0 ? keys : std::min(load.shortest_keys, keys);
    load.longest_keys = std::max(load.longest_keys, keys);
    load.keys += keys;
    load.packed_rows += rows * heads;
    ++load.requests;
  }
}

void count_plan(const DecodeMetadata& m, const plan::Plan& plan, StepLoad& load) {
  const std::int64_t heads = m.shape.plan.plan_heads.count();
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> readers;  // of the same keys
  for (std::int64_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    std::vector<Piece> pieces;
    for (std::int64_t w = plan.work_indptr.at(slot); w < plan.work_indptr.at(slot + 1); ++w) {
      const plan::WorkItem item = plan.work(w);
      pieces.push_back(
          {(item.kv_end - item.kv_begin) * m.shape.page_size, (item.q_end - item.q_begin) * heads});
      load.tile_rows = std::max(load.tile_rows, pieces.back().packed_rows);
      load.most_tiles = std::max(load.most_tiles, ++readers[{item.kv_begin, item.kv_end}]);
    }
    if (!pieces.empty()) load.slots.push_back(std::move(pieces));
  }
  for (std::int64_t g = 0; g + 1 < plan.reduce_indptr.used(); ++g) {
    const std::int64_t merged = plan.reduce_indptr.at(g + 1) - plan.reduce_indptr.at(g);
    if (merged <= 0) continue;
    const std::int64_t rows = plan.reduce_final_map.at(2 * g + 1) - plan.reduce_final_map.at(2 * g);
    load.longest_merge = std::max(load.longest_merge, merged);
    load.partial_rows += merged * rows * heads;
  }
}

// Split z takes the key tiles z, z + splits, ... of its request.
std::int64_t keys_of_split(std::int64_t keys, std::int64_t tile, std::int64_t splits,
                           std::int64_t z) {
  const std::int64_t tiles = ceil_div(keys, tile);
  const std::int64_t own = tiles > z ? ceil_div(tiles - z, splits) : 0;
  return std::min(keys, own * tile);
}

void count_splits(const DecodeMetadata& m, StepLoad& load) {
  const ResolvedShape& s = m.shape;
  const std::int64_t heads = s.heads.kernel.count();
  const bool merges =
      s.kv_splits > 1 || plan::merges_one_split(s.heads.kernel, s.max_qo_len, s.dtype);
  for (std::int64_t z = 0; z < s.kv_splits; ++z) {
    for (std::size_t r = 0; r + 1 < m.qo_indptr.size(); ++r) {
      const std::int64_t rows = (m.qo_indptr[r + 1] - m.qo_indptr[r]) * heads;
      const std::int64_t keys =
          rows == 0 ? 0 : keys_of_split(m.kv_lens[r], s.split_granularity, s.kv_splits, z);
      load.workgroups.push_back({keys, rows});
      load.tile_rows = std::max(load.tile_rows, rows);
      if (keys == 0 || !merges) continue;
      load.partial_rows += rows;
      load.longest_merge = std::max(load.longest_merge, z + 1);
    }
  }
}

}  // namespace

StepLoad load_of(const DecodeMetadata& metadata) {
  const ResolvedShape& shape = metadata.shape;
  StepLoad load{.arch = shape.arch,
                .dtype = shape.dtype,
                .planned = metadata.plan.has_value(),
                .units = shape.compute_units,
                .page_size = shape.page_size,
                .granularity = shape.granularity};
  count_requests(metadata, load);
  if (metadata.plan)
    count_plan(metadata, *metadata.plan, load);
  else
    count_splits(metadata, load);
  return load;
}

}  // namespace mla::timing
