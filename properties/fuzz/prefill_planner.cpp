// Target about the host planner of the prefill kernels.
#include <algorithm>

#include "core/plan/ps_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/say.hpp"
#include "properties/fuzz/target.hpp"
#include "properties/fuzz/words.hpp"

namespace mla::prop::fuzz {
namespace {

struct Call {
  Words rows{0}, keys{0}, lengths;
  std::int64_t longest = 1;
  bool spoilt = false;  // the lengths are not those of the lists
  plan::PsInput input;

  [[nodiscard]] std::string shown() const {
    return say(input.compute_units.count(), " units, ", input.kv_heads.count(), " heads",
               input.causal ? ", causal;" : ";", words_text("qo_indptr", rows),
               words_text("kv_indptr", keys), words_text("context_lens", lengths));
  }
};

// The spans of the input refer to `call`, which stays where it is.
void draw_call(ByteChoices& choices, Call& call) {
  const bool causal = choices.between(0, 2) > 0;
  const std::int64_t count = choices.between(1, 8);
  // Three tiles of rows show what many do, and cost less.
  const std::int64_t size = choices.between(0, 7);
  const std::int64_t most = size < 4 ? 40 : size < 7 ? 600 : 2000;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t q = choices.between(0, most);
    const std::int64_t n = causal ? q : choices.between(0, most);
    call.rows.push_back(call.rows.back() + static_cast<std::int32_t>(q));
    call.keys.push_back(call.keys.back() + static_cast<std::int32_t>(n));
    call.lengths.push_back(static_cast<std::int32_t>(n));
    call.longest = std::max(call.longest, q);
  }
  call.spoilt = choices.between(0, 5) == 0;
  if (call.spoilt)
    call.lengths[static_cast<std::size_t>(choices.between(0, count - 1))] =
        static_cast<std::int32_t>(choices.between(-5000, 5000));
  const ComputeUnits units(choices.between(1, 40));
  // Heads multiply the tiles: many of them cost time, and few show nearly the same.
  const Heads heads(choices.between(1, choices.between(0, 7) == 0 ? 24 : 4));
  call.input = {.compute_units = units,
                .kv_heads = heads,
                .qo_indptr = call.rows,
                .kv_indptr = call.keys,
                .context_lens = call.lengths,
                .qhead_granularity = 1,
                .qlen_granularity = 256,
                .kvlen_granularity = 128,
                .block_size = 1,
                .causal = causal};
}

}  // namespace

std::optional<Finding> fuzz_prefill_planner(Bytes bytes) {
  ByteChoices choices(bytes);
  Call call;
  draw_call(choices, call);
  const auto sizes = plan::query_ps_sizes({.compute_units = call.input.compute_units,
                                           .batch = Requests(call.input.batch()),
                                           .kv_heads = call.input.kv_heads,
                                           .max_qo_len = call.longest,
                                           .qlen_granularity = 256});
  if (!sizes) return std::nullopt;
  const auto plan = plan::plan_ps_prefill(call.input, *sizes);
  if (!plan && plan.error().message.empty())
    return Finding{call.shown(), "refused without a reason"};
  // A length below that of the lists is what a paged cache has; the rules count the lists.
  if (!plan || call.spoilt) return std::nullopt;
  const auto violations = plan::ps_check({.plan = plan->view(),
                                          .qo_indptr = call.rows,
                                          .kv_indptr = call.keys,
                                          .context_lens = call.lengths,
                                          .heads = call.input.kv_heads,
                                          .causal = call.input.causal});
  if (violations.empty()) return std::nullopt;
  return Finding{call.shown(), violations.front().what};
}

}  // namespace mla::prop::fuzz
