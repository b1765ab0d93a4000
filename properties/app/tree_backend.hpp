// The backend `aiter` of a whole AITER tree (--aiter DIR), by name: the process that answers for
// it, what a replay needs, and what a record says of its code.
//
// Fails: what goes with code objects alone, a device that is not emulated, a directory that is not
// there, and what the process says.
#pragma once

#include <memory>

#include "core/plan/step_planner.hpp"
#include "properties/app/backends.hpp"

namespace mla::app {

Result<NamedBackend> make_tree(const DeviceChoice& choice);

// The planner of a tree, for cases of one architecture.
Result<std::unique_ptr<plan::StepPlanner>> make_tree_planner(const std::string& directory,
                                                             Arch arch);

}  // namespace mla::app
