// One claim, several kinds of steps: each is checked by the function that knows its kind.
//
//   Property{"P04", ..., by_kind<p04_indptr_shape, nullptr, fa_indptr_shape>}
//
// The functions are those for decode, prefill and FA steps. A kind without one, and a kind that the
// backend does not execute, is not applicable. Fails: never by itself.
#pragma once

#include <string>

#include "properties/step/property.hpp"

namespace mla::prop {

template <Check::Function kDecode, Check::Function kPrefill, Check::Function kFa>
Outcome check_kind(Subject& subject) {
  const StepKind kind = subject.spec().kind();
  const Check::Function check = kind == StepKind::decode    ? kDecode
                                : kind == StepKind::prefill ? kPrefill
                                                            : kFa;
  if (check == nullptr)
    return not_applicable("the claim says nothing about " + step_name(kind) + " steps");
  if (subject.backend().device(kind).empty())
    return not_applicable(lacks_step(subject.backend(), kind));
  return check(subject);
}

template <Check::Function kDecode, Check::Function kPrefill, Check::Function kFa>
inline constexpr Check by_kind{&check_kind<kDecode, kPrefill, kFa>,
                               {kDecode != nullptr, kPrefill != nullptr, kFa != nullptr}};

}  // namespace mla::prop
