// A claim is a file pNN_name.cpp with its functions and, at its end, its constant; or a folder
// pNN_name/, where one file ends with the constant. support/ has what several claims use.
//
//   constexpr Property kP04{"P04", ..., by_kind<decode_indptr_shape, nullptr, fa_indptr_shape>};
//
// The functions are those for decode, prefill and FA steps. A kind without one, and a kind that the
// backend does not execute, is not applicable.
#pragma once

#include <array>
#include <string>
#include <type_traits>

#include "properties/step/property.hpp"

namespace mla::prop {

extern const Property kP01, kP02, kP03, kP04, kP05, kP06, kP07, kP08, kP09, kP10;
extern const Property kP11, kP12, kP13, kP14, kP15, kP16, kP17, kP18, kP19, kP20;
extern const Property kP21, kP22, kP23, kP24, kP25, kP26, kP27, kP28, kP29, kP30;
extern const Property kP31, kP32, kP33, kP34, kP35, kP36, kP37, kP38, kP39, kP40;
extern const Property kP41, kP42, kP43, kP44, kP45;

// Functions in another file of the folder than the constant.
Outcome decode_direct_rows(Subject& subject);            // P05
Outcome decode_splits(Subject& subject);                 // P05, without a plan
Outcome prefill_causal_mutation(Subject& subject);       // P13
Outcome decode_rank_masks(Subject& subject);             // P24
Outcome fa_chunk_merge(Subject& subject);                // P25
Outcome prefill_rank_chunks(Subject& subject);           // P25
Outcome fa_classify(Subject& subject);                   // P26
Outcome fa_kernel_available(Subject& subject);           // P28
Outcome prefill_kernel_available(Subject& subject);      // P28
Outcome decode_unsound_plans(Subject& subject);          // P33
Outcome prefill_hidden_nan(Subject& subject);            // P37
Outcome prefill_damage_found(Subject& subject);          // P39
Outcome decode_beyond_limits_refused(Subject& subject);  // P40
Outcome fa_bad_input_refused(Subject& subject);          // P40
Outcome prefill_bad_input_refused(Subject& subject);     // P40
Outcome prefill_close_bounds(Subject& subject);          // P44
Outcome fa_close_bounds(Subject& subject);               // P44

// A function or nullptr each. Which it is, its type says: g++ takes no comparison of a function
// with nullptr for a constant when a sanitizer is on.
template <auto kDecode, auto kPrefill, auto kFa>
Outcome check_kind(Subject& subject) {
  const StepKind kind = subject.spec().kind();
  constexpr std::array<Check::Function, 3> kChecks{kDecode, kPrefill, kFa};
  const Check::Function check = kChecks[static_cast<std::size_t>(kind)];
  if (check == nullptr)
    return not_applicable("the claim says nothing about " + step_name(kind) + " steps");
  if (subject.backend().device(kind).empty())
    return not_applicable(lacks_step(subject.backend(), kind));
  return check(subject);
}

template <auto kCheck>
inline constexpr bool is_function = !std::is_null_pointer_v<decltype(kCheck)>;

template <auto kDecode, auto kPrefill, auto kFa>
inline constexpr Check by_kind{&check_kind<kDecode, kPrefill, kFa>,
                               {is_function<kDecode>, is_function<kPrefill>, is_function<kFa>}};

}  // namespace mla::prop
