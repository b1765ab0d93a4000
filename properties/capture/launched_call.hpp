// What a kernel is told beside lists and buffers, against what its planner was told.
//
// A dump may hold the arguments of AITER's mla_decode_fwd (`launch_num_heads`, `launch_causal`,
// ...; docs/capture.md). The kernel is chosen by them (csrc/py_itfs_cu/asm_mla.cu), so that a plan
// made for other ones may be wrong, whatever the planner and the buffers are. Heads are those of
// the tensors that the function gets: padded if the engine pads, not yet folded, as the planner
// counts them too. Private to properties. Fails: a key that holds something else than it should.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "properties/capture/planner_call.hpp"

namespace mla::cli {

// An argument of the kernel that is another one than the planner's.
struct LaunchedArgument {
  std::string planned;   // "16 heads"
  std::string gets;      // "the kernel gets 128"
  nlohmann::json keys;   // of the planner's call, as they are for the kernel
  bool untold = false;   // the planner was told nothing about it
  bool chooses = false;  // the kernel is chosen by it
};

// Whether the key is one of them, not a list or buffer of the launch.
bool is_launched_argument(std::string_view key);
Result<std::vector<LaunchedArgument>> launched_arguments(const PlannerCall& call,
                                                         const nlohmann::json& object);
// Why no kernel takes the rows of the launch; empty if one may.
std::string impossible_rows(const nlohmann::json& object);
// Whether the kernel of the launch is chosen by other arguments than the planner was told.
bool launches_another_kernel(const PlannerCall& call, const nlohmann::json& object);
// The document with the planner told what the kernel is told, without the keys of a launch. As it
// is where the launch cannot be read.
nlohmann::json told_as_launched(const nlohmann::json& object);

}  // namespace mla::cli
