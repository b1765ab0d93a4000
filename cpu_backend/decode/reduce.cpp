#include "cpu_backend/decode/reduce.hpp"

#include <string>

#include "core/say.hpp"

namespace mla::cpu {
namespace {

struct Tile {
  std::int64_t index = 0;
  std::int64_t first = 0;  // of reduce_partial_map
  std::int64_t count = 0;
  std::int64_t q_begin = 0;  // kernel rows
  std::int64_t q_end = 0;
};

std::string bounds(std::int64_t begin, std::int64_t end) {
  return say("[", begin, ", ", end, ")");
}

class ReduceReader {
 public:
  ReduceReader(const plan::PlanView& plan, const TaskList& stage1)
      : plan_(plan), stage1_(stage1), tile_of_(stage1.owner.size(), -1) {}

  MergeList read() && {
    const auto tiles = static_cast<std::int64_t>(plan_.reduce_indptr.size()) - 1;
    for (std::int64_t i = 0; i < tiles; ++i) {
      Tile tile{.index = i};
      std::string bad = locate(tile);
      if (bad.empty() && tile.count >= 2) bad = check_rows(tile);
      if (!bad.empty()) {
        list_.faults.push_back({say("reduce tile ", i, ": ", bad), -1, -1});
      } else if (tile.count >= 2) {
        add(tile);
      }
    }
    return std::move(list_);
  }

 private:
  std::string locate(Tile& tile) const {
    const auto i = static_cast<std::size_t>(tile.index);
    const std::int64_t begin = plan_.reduce_indptr[i];
    const std::int64_t end = plan_.reduce_indptr[i + 1];
    const auto capacity = static_cast<std::int64_t>(plan_.reduce_partial_map.size());
    if (begin < 0 || end < begin || end > capacity)
      return "its partials " + bounds(begin, end) + " are not in " + bounds(0, capacity);
    tile.first = begin;
    tile.count = end - begin;
    if (tile.count < 2) return {};
    if (2 * i + 1 >= plan_.reduce_final_map.size())
      return say("reduce_final_map has only ", plan_.reduce_final_map.size() / 2, " rows");
    tile.q_begin = plan_.reduce_final_map[2 * i];
    tile.q_end = plan_.reduce_final_map[2 * i + 1];
    const auto rows = static_cast<std::int64_t>(stage1_.owner.size());
    if (tile.q_begin < 0 || tile.q_end < tile.q_begin || tile.q_end > rows)
      return "query rows " + bounds(tile.q_begin, tile.q_end) + " are not in " + bounds(0, rows);
    return {};
  }

  std::string check_rows(const Tile& tile) const {
    for (std::int64_t row = tile.q_begin; row < tile.q_end; ++row) {
      const auto i = static_cast<std::size_t>(row);
      if (stage1_.owner[i] >= 0)
        return say("output row ", row, " is already written by work ", stage1_.owner[i]);
      if (tile_of_[i] >= 0)
        return say("output row ", row, " is already written by reduce tile ", tile_of_[i]);
    }
    for (std::int64_t k = 0; k < tile.count; ++k) {
      const std::int64_t begin = partial(tile, k);
      const std::int64_t end = begin + tile.q_end - tile.q_begin;
      if (begin < 0 || end > stage1_.partial_rows)
        return "partial rows " + bounds(begin, end) + " are not in " +
               bounds(0, stage1_.partial_rows);
    }
    return {};
  }

  void add(const Tile& tile) {
    const MergeForm form = tile.count < 4 ? MergeForm::running : MergeForm::weighted;
    for (std::int64_t row = tile.q_begin; row < tile.q_end; ++row) {
      tile_of_[static_cast<std::size_t>(row)] = tile.index;
      const auto first = static_cast<std::int64_t>(list_.partials.size());
      for (std::int64_t k = 0; k < tile.count; ++k)
        list_.partials.push_back(partial(tile, k) + row - tile.q_begin);
      list_.rows.push_back({.row = row, .first = first, .count = tile.count, .form = form});
    }
  }

  [[nodiscard]] std::int64_t partial(const Tile& tile, std::int64_t k) const {
    return plan_.reduce_partial_map[static_cast<std::size_t>(tile.first + k)];
  }

  const plan::PlanView& plan_;
  const TaskList& stage1_;
  std::vector<std::int64_t> tile_of_;  // of each kernel row: the tile that merges it, or -1
  MergeList list_;
};

}  // namespace

MergeList read_reduce(const plan::PlanView& plan, const TaskList& stage1) {
  return ReduceReader(plan, stage1).read();
}

}  // namespace mla::cpu
