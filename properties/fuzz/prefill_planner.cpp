// Target about the host planner of the prefill kernels.
#include <algorithm>

#include "core/plan/ps_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/say.hpp"
#include "properties/fuzz/target.hpp"
#include "properties/fuzz/words.hpp"

namespace mla::prop::fuzz {
namespace {

struct PrefillCall {
  Words rows{0}, keys{0}, lengths;
  std::int64_t longest = 1;
  bool spoilt = false;    // the lengths are not those of the lists
  bool original = false;  // planned as AITER does too, which costs time
  plan::PsInput input;

  [[nodiscard]] std::string shown() const {
    return say(input.compute_units.count(), " units, ", input.kv_heads.count(), " heads of ",
               input.qhead_granularity, ", tiles of ", input.qlen_granularity, " rows, units of ",
               input.kvlen_granularity, ", page ", input.block_size, ", longest ", longest,
               input.causal ? ", causal;" : ";", words_text("qo_indptr", rows),
               words_text("kv_indptr", keys), words_text("context_lens", lengths));
  }
};

// Engines have tiles of 256 rows and works of one head, units of 128 keys and pages of one; the
// planner takes more.
void draw_form(ByteChoices& choices, plan::PsInput& in) {
  constexpr std::int64_t kPages[] = {1, 16, 64, 128, 2};
  constexpr std::int64_t kTiles[] = {256, 128, 64, 100};
  constexpr std::int64_t kHeads[] = {1, 2, 8, 16};
  in.causal = choices.between(0, 2) > 0;
  in.compute_units = ComputeUnits(choices.between(1, 40));
  // Heads multiply the tiles: many of them cost time, and few show nearly the same.
  in.kv_heads = Heads(choices.between(1, choices.between(0, 7) == 0 ? 24 : 4));
  in.block_size = kPages[choices.between(0, 4)];
  in.kvlen_granularity = std::max(in.block_size, std::int64_t{128} >> choices.between(0, 4));
  in.qlen_granularity = kTiles[choices.between(0, 3)];
  in.qhead_granularity = kHeads[choices.between(0, 3)];
}

// The spans of the input refer to `call`, which stays where it is.
void draw_prefill_call(ByteChoices& choices, PrefillCall& call) {
  plan::PsInput& in = call.input;
  draw_form(choices, in);
  const std::int64_t count = choices.between(1, 8);
  // Three tiles of rows show what many do, and cost less.
  const std::int64_t size = choices.between(0, 7);
  const std::int64_t most = size < 4 ? 40 : in.qlen_granularity * (size < 7 ? 5 : 16) / 2;
  const bool before = choices.between(0, 2) == 0;   // causal: keys before the new rows
  const bool surplus = choices.between(0, 7) == 0;  // pages that no key is in
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t q = choices.between(0, most);
    const std::int64_t n =
        (in.causal ? q : 0) + (!in.causal || before ? choices.between(0, most) : 0);
    const std::int64_t pages = ceil_div(n, in.block_size) + (surplus ? choices.between(0, 3) : 0);
    call.rows.push_back(call.rows.back() + static_cast<std::int32_t>(q));
    call.keys.push_back(call.keys.back() + static_cast<std::int32_t>(pages));
    call.lengths.push_back(static_cast<std::int32_t>(n));
    call.longest = std::max(call.longest, q);
  }
  // Engines provision for longer requests than a step has.
  if (choices.between(0, 3) == 0) call.longest += choices.between(1, 2 * in.qlen_granularity);
  call.spoilt = choices.between(0, 5) == 0;
  if (call.spoilt)
    call.lengths[static_cast<std::size_t>(choices.between(0, count - 1))] =
        static_cast<std::int32_t>(choices.between(-5000, 5000));
  call.original = choices.between(0, 3) == 0;
  in.qo_indptr = call.rows;
  in.kv_indptr = call.keys;
  in.context_lens = call.lengths;
}

}  // namespace

std::optional<Finding> fuzz_prefill_planner(Bytes bytes) {
  ByteChoices choices(bytes);
  PrefillCall call;
  draw_prefill_call(choices, call);
  const auto sizes = plan::query_ps_sizes({.compute_units = call.input.compute_units,
                                           .batch = Requests(call.input.batch()),
                                           .kv_heads = call.input.kv_heads,
                                           .max_qo_len = call.longest,
                                           .qlen_granularity = call.input.qlen_granularity});
  if (!sizes) return std::nullopt;
  const auto plan = plan::plan_ps_prefill(call.input, *sizes);
  if (call.original) {
    call.input.fidelity = plan::Fidelity::as_aiter;
    const auto original = plan::plan_ps_prefill(call.input, *sizes);
    if (plan && (!original || !(*original == *plan)))
      return Finding{call.shown(), "the plan is not AITER's"};
  }
  if (!plan && plan.error().message.empty())
    return Finding{call.shown(), "refused without a reason"};
  // A length below that of the lists is what a paged cache has; the rules count the lists.
  if (!plan || call.spoilt) return std::nullopt;
  const auto violations =
      plan::ps_check({.plan = plan->view(),
                      .qo_indptr = call.rows,
                      .kv_indptr = call.keys,
                      .context_lens = call.lengths,
                      .heads = call.input.kv_heads * call.input.qhead_granularity,
                      .qhead_granularity = call.input.qhead_granularity,
                      .qlen_granularity = call.input.qlen_granularity,
                      .block_size = call.input.block_size,
                      .causal = call.input.causal});
  if (violations.empty()) return std::nullopt;
  return Finding{call.shown(), violations.front().what};
}

}  // namespace mla::prop::fuzz
