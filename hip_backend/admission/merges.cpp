#include "hip_backend/admission/merges.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "core/units.hpp"

namespace mla::hip {
namespace {

class TileAdmission {
 public:
  TileAdmission(const plan::PlanView& plan, const WorkAdmission& works, Admission& out)
      : plan_(plan),
        works_(works),
        out_(out),
        tile_of_(static_cast<std::size_t>(works.rows()), -1) {}

  void admit(std::size_t tile) {
    first_ = plan_.reduce_indptr[tile];
    count_ = plan_.reduce_indptr[tile + 1] - first_;
    std::string bad = check_maps(tile);
    if (bad.empty() && count_ < 2) return;  // nothing to merge
    if (bad.empty()) bad = check_rows();
    if (bad.empty()) bad = check_partials();
    if (bad.empty()) return keep(tile);
    out_.faults.push_back({say("reduce tile ", tile, ": ", bad), -1, -1});
  }

 private:
  std::string check_maps(std::size_t tile) {
    const auto capacity = static_cast<std::int64_t>(plan_.reduce_partial_map.size());
    if (first_ < 0 || count_ < 0 || first_ + count_ > capacity)
      return "its partials " + range_text(first_, first_ + count_) + " are not in " +
             range_text(0, capacity);
    if (count_ < 2) return {};
    if (2 * tile + 1 >= plan_.reduce_final_map.size())
      return say("reduce_final_map has only ", plan_.reduce_final_map.size() / 2, " rows");
    q_ = {plan_.reduce_final_map[2 * tile], plan_.reduce_final_map[2 * tile + 1]};
    if (q_.begin < 0 || q_.end < q_.begin || q_.end > works_.rows())
      return "query rows " + range_text(q_.begin, q_.end) + " are not in " +
             range_text(0, works_.rows());
    return {};
  }

  [[nodiscard]] std::string check_rows() const {
    const auto written = [](std::int64_t row, const std::string& by) {
      return say("output row ", row, " is already written by ", by);
    };
    for (std::int64_t row = q_.begin; row < q_.end; ++row) {
      if (works_.owner(row) >= 0) return written(row, say("work ", works_.owner(row)));
      const std::int64_t other = tile_of_[static_cast<std::size_t>(row)];
      if (other >= 0) return written(row, say("reduce tile ", other));
    }
    return {};
  }

  [[nodiscard]] std::string check_partials() const {
    for (std::int64_t k = first_; k < first_ + count_; ++k) {
      const std::int64_t begin = plan_.reduce_partial_map[static_cast<std::size_t>(k)];
      const std::int64_t end = begin + q_.end - q_.begin;
      if (begin < 0 || end > works_.partial_rows())
        return "partial rows " + range_text(begin, end) + " are not in " +
               range_text(0, works_.partial_rows());
    }
    return {};
  }

  void keep(std::size_t tile) {
    out_.skip_tile[tile] = 0;
    out_.longest_tile = std::max(out_.longest_tile, q_.end - q_.begin);
    for (std::int64_t row = q_.begin; row < q_.end; ++row)
      tile_of_[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(tile);
    if (q_.begin == q_.end) return;
    for (std::int64_t k = first_; k < first_ + count_; ++k)
      out_.partial_rows =
          std::max(out_.partial_rows,
                   plan_.reduce_partial_map[static_cast<std::size_t>(k)] + q_.end - q_.begin);
  }

  const plan::PlanView& plan_;
  const WorkAdmission& works_;
  Admission& out_;
  std::vector<std::int64_t> tile_of_;  // of each kernel row: the tile that merges it, or -1
  std::int64_t first_ = 0;             // of reduce_partial_map
  std::int64_t count_ = 0;
  RowRange q_;
};

}  // namespace

void admit_tiles(const plan::PlanView& plan, const WorkAdmission& works, Admission& out) {
  const std::size_t tiles = plan.reduce_indptr.size() - 1;
  out.skip_tile.assign(tiles, 1);
  TileAdmission checks(plan, works, out);
  for (std::size_t tile = 0; tile < tiles; ++tile) checks.admit(tile);
}

void admit_request_merge(const DecodeMetadata& metadata, std::int64_t request, Admission& out) {
  const auto r = static_cast<std::size_t>(request);
  const std::int64_t splits = metadata.shape.kv_splits;
  const RowRange q{metadata.qo_indptr[r], metadata.qo_indptr[r + 1]};
  const std::int64_t pages = std::int64_t{metadata.kv_indptr[r + 1]} - metadata.kv_indptr[r];
  const std::int64_t keys =
      (pages - 1) * metadata.shape.page_size + metadata.last_page_len[r];  // it has a split
  const std::int64_t count = std::min(splits, ceil_div(keys, metadata.shape.split_granularity));
  out.skip_tile[r] = 0;
  out.longest_tile = std::max(out.longest_tile, q.end - q.begin);
  if (q.begin < q.end) out.partial_rows = std::max(out.partial_rows, (q.end - 1) * splits + count);
}

}  // namespace mla::hip
