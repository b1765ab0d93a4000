// The list of all properties, by id. docs/properties.md repeats it for readers; a test compares.
#include <algorithm>
#include <array>

#include "properties/claims/by_kind.hpp"
#include "properties/claims/canary.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/engine_claims.hpp"
#include "properties/claims/fa_claims.hpp"
#include "properties/claims/prefill_claims.hpp"

namespace mla::prop {
namespace {

constexpr std::array kProperties = {
    Property{"P01", "expand_exact",
             "Expanding a block table equals a scalar loop for every ratio, stride and launch, and "
             "writes nothing else.",
             p01_expand_exact},
    Property{"P02", "tail_invariance",
             "Plan, split choice and result do not depend on spare capacity or its contents.",
             by_kind<p02_tail_invariance, nullptr, nullptr>},
    Property{"P03", "rebuild_equals_fresh",
             "A step built in used buffers equals the same step built in fresh ones.",
             by_kind<p03_rebuild_equals_fresh, nullptr, fa_rebuild_equals_fresh>},
    Property{"P04", "indptr_shape",
             "Index lists have rows + 1 entries, start at 0, step by the lengths, and their tails "
             "are constant.",
             by_kind<p04_indptr_shape, nullptr, fa_indptr_shape>},
    Property{"P05", "plan_coverage",
             "The works cover each row's visible keys exactly once, each row is written once, and "
             "the result equals the reference.",
             by_kind<p05_plan_coverage, prefill_plan_coverage, nullptr>},
    Property{"P06", "capacity_guard",
             "No batch within the declared capacity writes past the end of a buffer.",
             by_kind<p06_capacity_guard, nullptr, nullptr>},
    Property{
        "P07", "predicate_agreement",
        "Size query, planner, kernel table and head padding agree on heads, folding and tiles.",
        by_kind<p07_predicate_agreement, nullptr, nullptr>},
    Property{"P08", "split_invariance",
             "The result does not depend on how and where the keys are cut, beyond rounding.",
             by_kind<p08_split_invariance, nullptr, nullptr>},
    Property{"P09", "empty_neutral",
             "A piece without visible keys has weight 0, and no NaN comes out of finite input.",
             by_kind<p09_empty_neutral, nullptr, nullptr>},
    Property{"P10", "zero_rows",
             "Rows without keys get output 0 and LSE -inf, read no page and change no other row.",
             by_kind<p10_zero_rows, nullptr, nullptr>},
    Property{"P11", "pad_noninterference",
             "Padding requests change nothing for live rows and never make a step fail.",
             by_kind<p11_pad_noninterference, nullptr, nullptr>},
    Property{"P12", "qlen_sweep",
             "Row i of q equals a one-row decode of the n-q+1+i keys that it sees.",
             by_kind<p12_qlen_sweep, nullptr, fa_qlen_sweep>},
    Property{"P13", "causal_mutation",
             "Changing a key changes the rows that see it, and no bit of the others.",
             by_kind<p13_causal_mutation, nullptr, nullptr>},
    Property{"P14", "head_pad",
             "Padded and folded heads give what unpadded attention gives, and plan, tensors and "
             "reducer have the same heads.",
             by_kind<p14_head_pad, prefill_head_pad, nullptr>},
    Property{"P15", "dtype_threading",
             "The plan from the declared dtypes is the plan from the tensors' dtypes.",
             by_kind<p15_dtype_threading, prefill_dtype_threading, nullptr>},
    Property{"P16", "scale_equivariance",
             "Doubling fp8 data and halving its scale changes no bit; bf16 data has no scale.",
             by_kind<p16_scale_equivariance, nullptr, nullptr>},
    Property{"P17", "wide_offsets",
             "Page ids and byte offsets around 2^16, 2^24, 2^31 and 2^32 give the same bits.",
             by_kind<p17_wide_offsets, nullptr, nullptr>},
    Property{"P18", "page_relabel",
             "Keys have slots of their own, kv_indices names their pages, and renaming blocks "
             "changes no bit.",
             by_kind<p18_page_relabel, nullptr, fa_page_relabel>},
    Property{"P19", "graph_replay",
             "A captured launch, replayed after a later build, gives what that step gives alone.",
             by_kind<decode_graph_replay, nullptr, nullptr>},
    Property{"P20", "stream_order",
             "However far the host runs ahead, every kernel sees what was built for its step.",
             by_kind<decode_stream_order, prefill_stream_order, nullptr>},
    Property{"P21", "no_sync",
             "A step of decodes is built and launched without waiting for the device.",
             by_kind<decode_no_sync, nullptr, fa_no_sync>},
    Property{"P22", "workspace_reserved",
             "What is reserved before the workspace is locked holds every batch within the limits.",
             by_kind<nullptr, p22_workspace_reserved, nullptr>, Arch::gfx950, "fp8 prefill"},
    Property{"P23", "bound_tight",
             "Sizes grow with the capacity and exceed what a batch can need by a bounded factor.",
             by_kind<p23_bound_tight, prefill_bound_tight, nullptr>},
    Property{"P24", "lse_contract",
             "The LSE is natural: of one key its score, and shards merged by it give the whole.",
             by_kind<p24_lse_contract, prefill_lse_contract, nullptr>},
    Property{"P25", "chunk_merge",
             "Context chunks cover every key once, and their size does not change the result.",
             by_kind<nullptr, p25_chunk_merge, fa_chunk_merge>},
    Property{"P26", "classify",
             "Uniformity and the decode prefix follow the engine's rules, which test lengths for "
             "equality.",
             by_kind<p26_classify, nullptr, fa_classify>},
    Property{"P27", "block_negotiation",
             "The common block size is what a search over all sizes finds.", p27_block_negotiation},
    Property{"P28", "kernel_available",
             "Every shape gets a listed kernel or is refused with a reason.",
             by_kind<p28_kernel_available, nullptr, fa_kernel_available>},
    Property{"P29", "causal_flag",
             "A step without a causal mask is attended without one, or refused.",
             by_kind<decode_causal_flag, nullptr, fa_causal_flag>},
    Property{"P30", "group_isolation",
             "Cache groups with other heads, dtype and block size that run in turns change no bit.",
             by_kind<p30_group_isolation, nullptr, nullptr>},
    Property{"P31", "determinism",
             "Any schedule and number of threads gives the same bits in every buffer.",
             by_kind<p31_determinism, nullptr, nullptr>},
    Property{"P32", "scratch_bounds", "Planner and reducer stay inside their scratch memory.",
             p32_scratch_bounds},
    Property{"P33", "abi_contract",
             "A launch carries six plan buffers or none, with sizes, lists and scales that fit.",
             by_kind<p33_abi_contract, nullptr, nullptr>},
    Property{"P34", "n_ge_q",
             "No request with fewer keys than causal rows reaches a planner, and none is planned.",
             by_kind<p34_n_ge_q, nullptr, nullptr>},
    Property{"P35", "balance", "No slot gets more than the planner's payload and one tail.",
             by_kind<p35_balance, nullptr, nullptr>},
    Property{"P36", "split_cap", "No plan cuts further than its split budget allows.",
             by_kind<p36_split_cap, nullptr, nullptr>},
    Property{"P37", "hidden_nan",
             "A NaN or infinity in a key changes no bit of the rows that must not see it.",
             by_kind<p37_hidden_nan, nullptr, nullptr>},
    Property{"P38", "cut_keys",
             "The keys on both sides of every cut reach the rows that look for them, and no row "
             "finds the key after its last.",
             by_kind<p38_cut_keys, nullptr, nullptr>},
    Property{"P39", "damage_found",
             "A word of a plan that leads out of its buffers is a fault, and changes no other "
             "request.",
             by_kind<p39_damage_found, nullptr, nullptr>},
    Property{"P40", "bad_input_refused",
             "Lists that no batch has and buffers that are too small are refused.",
             by_kind<p40_bad_input_refused, nullptr, nullptr>},
    Property{"P41", "planners_valid", "Every planner that takes the case makes a valid plan of it.",
             by_kind<p41_planners_valid, nullptr, nullptr>},
};

}  // namespace

std::span<const Property> all_properties() {
  return kProperties;
}

const Property* find_property(std::string_view id) {
  if (id == canary().id) return &canary();
  const auto found = std::find_if(kProperties.begin(), kProperties.end(),
                                  [id](const Property& p) { return p.id == id; });
  return found == kProperties.end() ? nullptr : &*found;
}

}  // namespace mla::prop
