// The CPU's kernels of a prefill step, one function each, over a data path.
//
// Contracts: core/engine/prefill/kernels.hpp. Reduce, gather and merge of context are the same
// code on every data path and also serve other backends: their launches count for the device
// "host". Fails: indices that leave a buffer become faults, never accesses.
#pragma once

#include <optional>

#include "core/engine/prefill/kernels.hpp"
#include "cpu_backend/data_path/data_path.hpp"

namespace mla::cpu {

using prefill::FlashLaunch;
using prefill::GatherLaunch;
using prefill::KernelContext;
using prefill::MergeLaunch;
using prefill::Operand;
using prefill::PlanSpans;
using prefill::PsLaunch;
using prefill::PsOutput;
using prefill::RowsView;
using prefill::State;
using prefill::WordSpan;

void run_prefill_ps(const DataPath& path, const KernelContext& context, const PsLaunch& launch,
                    PsOutput& output);
// With the scale of V, which is multiplied into every output before it is rounded.
void run_prefill_ps_scaled(const DataPath& path, const KernelContext& context,
                           const PsLaunch& launch, float v_scale, PsOutput& output);
void run_prefill_reduce(const KernelContext& context, const PlanSpans& plan, PsOutput& output);
void run_flash(const DataPath& path, const KernelContext& context, const FlashLaunch& launch);
// What a request's rows or keys leave, if they leave a tensor.
std::optional<Fault> flash_fault(const FlashLaunch& launch, std::size_t request);
void run_gather(const KernelContext& context, const GatherLaunch& launch);
void run_merge_states(const KernelContext& context, const MergeLaunch& launch);

// All of them; `path` outlives the table.
prefill::Kernels prefill_kernels(const DataPath& path);

}  // namespace mla::cpu
