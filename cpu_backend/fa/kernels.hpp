// The CPU's kernels of an FA step, one function each; plain C++, the same on every data path.
//
// Contracts: core/engine/fa/kernels.hpp. Launches count for the device "host". Fails: indices that
// leave a list or a buffer become faults, never accesses.
#pragma once

#include <string_view>

#include "core/engine/fa/kernels.hpp"

namespace mla::cpu {

void update_cache(const fa::KernelContext& context, const fa::CacheUpdate& update);
void varlen_attention(const fa::KernelContext& context, const fa::VarlenCall& call);
void gather_cache(const fa::KernelContext& context, const fa::GatherCall& call);
void merge_states(const fa::KernelContext& context, const fa::MergeCall& call);
void paged_attention_v1(const fa::KernelContext& context, const fa::PagedCall& call);
void unified_attention(const fa::KernelContext& context, const fa::PagedCall& call);

// All of them.
fa::Kernels fa_kernels();

// Notes a launch of one of them.
void count_launch(const fa::KernelContext& context, std::string_view kernel);

}  // namespace mla::cpu
