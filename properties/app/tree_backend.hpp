// The backend `aiter` of a whole AITER tree (--aiter DIR), by name: the process that answers for
// it, what a replay needs, and what a record says of its code.
//
// Fails: what goes with code objects alone, a device that is not emulated, a directory that is not
// there, and what the process says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/plan/step_planner.hpp"
#include "hip_backend/aiter_tree/tree_process.hpp"
#include "properties/app/device_choice.hpp"
#include "properties/dump/check/answer.hpp"
#include "properties/dump/dump.hpp"

namespace mla::app {

Result<NamedBackend> make_tree(const DeviceChoice& choice);

// The process of a tree, over one architecture.
Result<std::shared_ptr<hip::aiter_tree::TreeProcess>> open_tree(const std::string& directory,
                                                                Arch arch);

// The planner of a tree, for cases of one architecture.
Result<std::unique_ptr<plan::StepPlanner>> make_tree_planner(const std::string& directory,
                                                             Arch arch);

// The planners of a tree, one for each architecture that is met; without a directory there is none.
class TreePlanners {
 public:
  explicit TreePlanners(std::string directory) : directory_(std::move(directory)) {}
  // Adds what the tree's planner says of a dump's plan. Fails: as make_tree_planner().
  MaybeError ask(const dump::Dump& dump, dump::Answer& answer);

 private:
  std::string directory_;
  std::map<Arch, std::unique_ptr<plan::StepPlanner>> planners_;
};

}  // namespace mla::app
