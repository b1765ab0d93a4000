// PlannerCall, PrefillCall: what a planner was told, as a dump has it.
//
// The arguments of AITER's get_mla_metadata_v1 and get_ps_metadata_v1 with the lists that they
// refer to, in the planners' units. A copy of a call may change its numbers; its lists are
// shared and never change.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/plan/plan_check.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/ps_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/result.hpp"
#include "properties/dump/found_plan.hpp"

namespace mla::dump {

struct CallLists {
  Words qo_indptr, kv_indptr, last_page_len;
};

struct PlannerCall {
  plan::PlanInput input;  // its lists are `lists`
  // Pieces of a request; 0: not told.
  std::int64_t num_kv_splits = 0;
  bool intra_batch_mode = false;
  // Of the launch, which chooses the kernel; -1: the dump does not say.
  std::int64_t launched_rows = -1;
  bool causal_given = true;  // false: the dump does not say, and AITER's decode steps are causal
  // Of a rank's launch: which one of how many, and [batch + 1] running keys of all of them.
  std::optional<std::int64_t> ranks, rank;
  std::shared_ptr<const Words> global_kv_indptr;
  std::shared_ptr<const CallLists> lists;

  void refer_to(CallLists own);
  // What the buffers are asked for with. Its max_qo_len are the rows that choose the kernel.
  [[nodiscard]] plan::SizeQuery sizes() const;
  // The keys of a rank; kernels for ranks take pages of one key.
  [[nodiscard]] plan::DealtKeys dealt() const MLA_LIFETIME_BOUND;
};

struct PrefillLists {
  Words qo_indptr, kv_indptr, context_lens;
};

struct PrefillCall {
  plan::PsInput input;  // its lists are `lists`
  Arch arch = Arch::gfx950;
  Heads heads{1};  // query heads
  std::shared_ptr<const PrefillLists> lists;

  void refer_to(PrefillLists own);
  [[nodiscard]] plan::PsSizeQuery sizes() const;
};

// Rows of the longest request, at least 1.
std::int64_t longest_request(std::span<const std::int32_t> qo_indptr);
// Why lists or buffers of a call are larger than any engine's; nothing if they are not. Asked
// before anything is allocated for them: a few bytes of a file may ask for gigabytes.
[[nodiscard]] MaybeError too_large(const PlannerCall& call);
[[nodiscard]] MaybeError too_large(const PrefillCall& call);

}  // namespace mla::dump
