// P30: cache groups with other heads, dtype and block size that take turns change no bit.
#include <algorithm>

#include "core/engine/step_hooks.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/step_runs.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

Outcome decode_group_isolation(Subject& subject) {
  // The draft: other heads, block size and dtype, one row a request.
  std::vector<Case> target = steps_of(subject.spec());
  std::vector<Case> draft = target;
  for (Case& c : draft) {
    c.heads = c.heads == 16 ? 32 : 16;
    c.page_size = 1;
    c.block_size = c.block_size == 16 ? 4 : 16;
    c.dtype = c.dtype.kv == Dtype::fp8 ? DtypePair{} : DtypePair{Dtype::bf16, Dtype::fp8};
    c.planner = PlannerChoice::v12;
    c.decode().kv_splits = 0;
    c.decode().need_lse = false;
    for (RequestSpec& r : c.requests) r.qo_len = std::min<std::int64_t>(r.qo_len, 1);
  }
  const SequenceOptions options = eager_on(subject, kv_bound(target));
  const auto both = run_groups({target, draft}, subject.backend(), options, subject.hooks());
  if (!both) return refusal(both.error());
  for (std::size_t g = 0; g < 2; ++g) {
    const auto alone =
        run_sequence(g == 0 ? target : draft, subject.backend(), options, StepHooks::none());
    if (!alone) return refusal(alone.error());
    if (const auto diff = difference((*both)[g].steps, alone->steps))
      return failed((g == 0 ? "the target's " : "the draft's ") + *diff +
                    " (differs from the group alone)");
  }
  return passed();
}

}  // namespace

constexpr Property kP30{
    "P30", "group_isolation",
    "Cache groups with other heads, dtype and block size that run in turns change no bit.",
    by_kind<decode_group_isolation, nullptr, nullptr>};

}  // namespace mla::prop
