// The claims, one function each; the catalogue gives them ids and sentences.
//
// Owns the declarations only. Every function takes a subject and returns what it found, see
// properties/step/property.hpp. An Outcome is the answer.
#pragma once

#include "properties/step/property.hpp"

namespace mla::prop {

Outcome p01_expand_exact(Subject& subject);
Outcome p02_tail_invariance(Subject& subject);
Outcome p03_rebuild_equals_fresh(Subject& subject);
Outcome p04_indptr_shape(Subject& subject);
Outcome p05_plan_coverage(Subject& subject);
Outcome p06_capacity_guard(Subject& subject);
Outcome p07_predicate_agreement(Subject& subject);
Outcome p08_split_invariance(Subject& subject);
Outcome p09_empty_neutral(Subject& subject);
Outcome p10_zero_rows(Subject& subject);
Outcome p11_pad_noninterference(Subject& subject);
Outcome p12_qlen_sweep(Subject& subject);
Outcome p13_causal_mutation(Subject& subject);
Outcome p14_head_pad(Subject& subject);
Outcome p15_dtype_threading(Subject& subject);
Outcome p16_scale_equivariance(Subject& subject);
Outcome p17_wide_offsets(Subject& subject);
Outcome p18_page_relabel(Subject& subject);
Outcome p23_bound_tight(Subject& subject);
Outcome p24_lse_contract(Subject& subject);
Outcome p26_classify(Subject& subject);
Outcome p27_block_negotiation(Subject& subject);
Outcome p28_kernel_available(Subject& subject);
Outcome p31_determinism(Subject& subject);
Outcome p32_scratch_bounds(Subject& subject);
Outcome p33_abi_contract(Subject& subject);
Outcome p34_n_ge_q(Subject& subject);
Outcome p35_balance(Subject& subject);
Outcome p36_split_cap(Subject& subject);
Outcome p37_hidden_nan(Subject& subject);
Outcome p38_cut_keys(Subject& subject);
Outcome p39_damage_found(Subject& subject);
Outcome p40_bad_input_refused(Subject& subject);
Outcome p41_planners_valid(Subject& subject);

}  // namespace mla::prop
