#include <algorithm>
#include <vector>

#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

std::vector<Plant> sorted_plants() {
  std::vector<Plant> all;
  for (const auto& group :
       {index_list_plants(), reuse_plants(), offset_plants(), head_plants(), dtype_plants(),
        planner_plants(), size_plants(), row_plants(), result_plants(), function_plants(),
        sequence_plants(), width_plants(), fa_plants(), prefill_plants()})
    all.insert(all.end(), group.begin(), group.end());
  std::sort(all.begin(), all.end(), [](const Plant& a, const Plant& b) { return a.id < b.id; });
  return all;
}

}  // namespace

std::span<const Plant> all_plants() {
  static const std::vector<Plant> all = sorted_plants();
  return all;
}

const Plant* find_plant(std::string_view id) {
  const auto all = all_plants();
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const Plant& p) { return p.id == id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace mla::prop
