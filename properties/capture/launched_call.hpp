// What a kernel is told beside lists and buffers, against what its planner was told.
//
// A dump may hold the arguments of AITER's mla_decode_fwd (`launch_num_heads`, `launch_causal`,
// ...; docs/reference/bundles.md). The kernel is chosen by them (csrc/py_itfs_cu/asm_mla.cu), so
// that a plan made for other ones may be wrong, whatever the planner and the buffers are. Heads are
// those of the tensors that the function gets: padded if the engine pads, not yet folded, as the
// planner counts them too. Private to properties. Fails: a key that holds something else than it
// should.
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
// Whether what the document says of a launch can be read.
Status check_launch_keys(const nlohmann::json& object);
Result<std::vector<LaunchedArgument>> launched_arguments(const PlannerCall& call,
                                                         const nlohmann::json& object);
// Why no kernel takes the rows of the launch; empty if one may.
std::string impossible_rows(const nlohmann::json& object);
// What the launch asks for and its kernel was never built for: no mask, or the keys of a rank
// (`causal` and `cprr` in mla_asm.csv). AITER ends there. Empty if it was.
std::string missing_build(const nlohmann::json& object);
// Whether the kernel of the launch is chosen by other arguments than the planner was told.
bool launches_another_kernel(const PlannerCall& call, const nlohmann::json& object);
// Whether AITER's wrapper runs the step without a plan: it gets none or goes past it
// (persistent_gate.hpp). `launch_persistent` is its own answer, where a dump has it.
bool runs_unplanned(const nlohmann::json& object);
// Splits of each request then (split_count.hpp): what the caller asks for, or by `launch_total_kv`,
// the length of the kernel's kv_indices, or else of the dumped ones.
Result<std::int64_t> launched_splits(const PlannerCall& call, const nlohmann::json& object,
                                     std::int64_t dumped_kv);
// The document with the planner told what the kernel is told, without the keys of a launch. As it
// is where the launch cannot be read.
nlohmann::json told_as_launched(const nlohmann::json& object);

}  // namespace mla::cli
