// The arguments of a kernel beside its lists and buffers, compared with those of its planner.
//
// They choose the kernel (csrc/py_itfs_cu/asm_mla.cu). So a plan made for other arguments may be
// wrong even if planner and buffers are right.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "properties/dump/dump.hpp"

namespace mla::dump {

// An argument of the kernel that is another one than the planner's.
struct LaunchedArgument {
  std::string planned;                     // "16 heads"
  std::string gets;                        // "the kernel gets 128"
  std::function<void(PlannerCall&)> tell;  // gives the planner's call the kernel's
  bool untold = false;                     // the planner was told nothing about it
  bool chooses = false;                    // the kernel is chosen by it
};

std::vector<LaunchedArgument> launched_arguments(const PlannerCall& call, const Launch& launch);
// The mask of a launch of several rows that names none: AITER's default, and what its older kernels
// do, is causal. Nothing where the planner was told of one, or the kernel has an unmasked build.
std::optional<LaunchedArgument> implied_mask(const PlannerCall& call, const Launch& launch);
// The call of a planner that was told these arguments.
PlannerCall told(PlannerCall call, const std::vector<LaunchedArgument>& arguments);
PlannerCall told_as_launched(const PlannerCall& call, const Launch& launch);

// Why no kernel takes the rows of the launch; empty if one may.
std::string impossible_rows(const Launch& launch);
// What the launch asks for and its kernel was never built for: no mask, or the keys of a rank
// (`causal` and `cprr` in mla_asm.csv). AITER ends there. Empty if it was.
std::string missing_build(const Planning& planned, const Launch& launch);
// Whether the kernel of the launch is chosen by other arguments than the planner was told.
bool launches_another_kernel(const PlannerCall& call, const Launch& launch);
// Whether AITER's wrapper runs the step without a plan: it gets none or goes past it
// (persistent_gate.hpp). `Launch::persistent` is its own answer, where a dump has it. `launch`:
// nothing where the dump has none.
bool runs_unplanned(const Planning& planned, const Launch* launch);
// Splits of each request then (split_count.hpp): what the caller asks for, or by the length of the
// kernel's kv_indices, or else of the dumped ones. Fails: splits that no kernel takes.
Result<std::int64_t> launched_splits(const PlannerCall& call, const Launch& launch,
                                     std::int64_t dumped_kv);

}  // namespace mla::dump
