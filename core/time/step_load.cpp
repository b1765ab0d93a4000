#include "core/time/step_load.hpp"

#include <algorithm>
#include <map>

#include "core/engine/decode_builder.hpp"
#include "core/paging/pages.hpp"
#include "core/shape/split_count.hpp"

namespace mla::timing {
namespace {

struct RequestLists {
  std::span<const std::int32_t> qo_indptr;
  std::span<const std::int64_t> kv_lens;
  std::int64_t heads = 1;
};

void count_requests(const RequestLists& lists, StepLoad& load) {
  for (std::size_t r = 0; r + 1 < lists.qo_indptr.size(); ++r) {
    const std::int64_t rows = std::int64_t{lists.qo_indptr[r + 1]} - lists.qo_indptr[r];
    const std::int64_t keys = lists.kv_lens[r];
    if (rows <= 0 || keys <= 0) continue;
    load.shortest_keys = load.requests == 0 ? keys : std::min(load.shortest_keys, keys);
    load.longest_keys = std::max(load.longest_keys, keys);
    load.keys += keys;
    load.packed_rows += rows * lists.heads;
    ++load.requests;
  }
}

std::vector<std::int64_t> lengths_of(const plan::PlanCheckInput& in) {
  std::vector<std::int64_t> lengths;
  for (std::size_t r = 0; r + 1 < in.kv_indptr.size(); ++r)
    lengths.push_back(keys_in_pages(std::int64_t{in.kv_indptr[r + 1]} - in.kv_indptr[r],
                                    in.page_size, in.last_page_len[r]));
  return lengths;
}

void count_works(const PlannedStep& step, StepLoad& load) {
  const plan::PlanView& plan = step.check.plan;
  const std::int64_t heads = step.check.shape.plan_heads.count();
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> readers;  // of the same keys
  for (std::size_t slot = 0; slot + 1 < plan.work_indptr.size(); ++slot) {
    std::vector<Piece> pieces;
    for (std::int64_t w = plan.work_indptr[slot]; w < plan.work_indptr[slot + 1]; ++w) {
      const plan::WorkItem item = plan.work(w);
      const std::int64_t rows = std::int64_t{item.q_end} - item.q_begin;
      const std::int64_t pages = std::int64_t{item.kv_end} - item.kv_begin;
      if (rows <= 0 || pages <= 0) continue;  // a kernel ends the slot there
      pieces.push_back({pages * step.check.page_size, rows * heads});
      load.tile_rows = std::max(load.tile_rows, pieces.back().packed_rows);
      load.most_tiles = std::max(load.most_tiles, ++readers[{item.kv_begin, item.kv_end}]);
    }
    if (!pieces.empty()) load.slots.push_back(std::move(pieces));
  }
}

void count_merges(const PlannedStep& step, StepLoad& load) {
  const plan::PlanView& plan = step.check.plan;
  const std::int64_t heads = step.check.shape.plan_heads.count();
  const std::size_t lists = std::min(plan.reduce_indptr.size(), plan.reduce_final_map.size() / 2);
  for (std::size_t g = 0; g + 1 < plan.reduce_indptr.size() && g < lists; ++g) {
    const std::int64_t merged = std::int64_t{plan.reduce_indptr[g + 1]} - plan.reduce_indptr[g];
    if (merged <= 1) continue;  // no reduce looks at the rest
    const std::int64_t rows =
        std::int64_t{plan.reduce_final_map[2 * g + 1]} - plan.reduce_final_map[2 * g];
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

PlannedStep planned_step_of(const DecodeMetadata& metadata, const plan::PlanView& plan) {
  const ResolvedShape& shape = metadata.shape;
  return {.check = check_input_of(metadata, plan),
          .arch = shape.arch,
          .dtype = shape.dtype,
          .widths = shape.widths,
          .units = shape.compute_units,
          .granularity = shape.granularity};
}

StepLoad load_of(const PlannedStep& step) {
  StepLoad load{.arch = step.arch,
                .dtype = step.dtype,
                .widths = step.widths,
                .planned = true,
                .dealt = step.check.cp_round_robin,
                .units = step.units,
                .page_size = step.check.page_size,
                .granularity = step.granularity};
  const std::vector<std::int64_t> lengths = lengths_of(step.check);
  count_requests({step.check.qo_indptr, lengths, step.heads()}, load);
  count_works(step, load);
  count_merges(step, load);
  return load;
}

StepLoad load_of(const DecodeMetadata& metadata) {
  if (metadata.plan) return load_of(planned_step_of(metadata, metadata.plan->view()));
  const ResolvedShape& shape = metadata.shape;
  StepLoad load{.arch = shape.arch,
                .dtype = shape.dtype,
                .widths = shape.widths,
                .planned = false,
                .units = shape.compute_units,
                .page_size = shape.page_size,
                .granularity = shape.granularity};
  count_requests({metadata.qo_indptr, metadata.kv_lens, shape.heads.kernel.count()}, load);
  count_splits(metadata, load);
  return load;
}

}  // namespace mla::timing
