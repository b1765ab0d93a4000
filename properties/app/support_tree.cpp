// What a source tree of AITER offers, shape by shape: its own planner and dispatch are asked.
#include <map>
#include <memory>
#include <utility>

#include "core/say.hpp"
#include "hip_backend/aiter_tree/tree_support.hpp"
#include "properties/app/support.hpp"
#include "properties/app/tree_backend.hpp"

namespace mla::app {

Result<SupportOracle> tree_support(const std::string& directory, const std::string& arch) {
  std::map<Arch, std::shared_ptr<hip::aiter_tree::TreeProcess>> trees;
  for (const Arch one : {Arch::gfx942, Arch::gfx950}) {
    if (!arch.empty() && arch != name(one)) continue;
    auto tree = open_tree(directory, one);
    if (!tree) return tree.error();
    trees.emplace(one, std::move(*tree));
  }
  return SupportOracle([trees = std::move(trees)](const SupportShape& shape) -> SupportAnswer {
    const auto taken = hip::aiter_tree::launched_for(
        *trees.at(shape.arch), {.compute_units = product_compute_units(shape.arch),
                                .requests = shape.requests,
                                .rows = shape.rows,
                                .heads = shape.heads,
                                .dtype = shape.dtype,
                                .causal = shape.causal,
                                .lse = shape.lse,
                                .planned = shape.planned});
    // What does not compile, a kernel that faults and a process that crashes are no refusals.
    if (!taken)
      return {false, taken.error().code == ErrorCode::fault ? kFails : "refused", "",
              taken.error().message};
    const std::vector<std::string>& launched = taken->launched;
    if (launched.empty()) return {false, "refused", "", "AITER launched no kernel"};
    std::string reason = "AITER launched it";
    for (std::size_t i = 1; i < launched.size(); ++i)
      reason += say(i == 1 ? ", then " : ", ", launched[i]);
    return {true, shape.planned ? "persistent" : "split", launched.front(), reason};
  });
}

}  // namespace mla::app
