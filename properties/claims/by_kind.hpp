// One claim, several kinds of steps: each is checked by the function that knows its kind.
//
//   Property{"P04", ..., by_kind<p04_indptr_shape, nullptr, fa_indptr_shape>}
//
// The functions are those for decode, prefill and FA steps; a kind without one is skipped.
// Fails: never by itself.
#pragma once

#include <string>

#include "properties/property.hpp"

namespace mla::prop {

using Check = Outcome (*)(Subject&);

template <Check kDecode, Check kPrefill, Check kFa>
Outcome by_kind(Subject& subject) {
  const StepKind kind = subject.spec().kind;
  const Check check = kind == StepKind::decode    ? kDecode
                      : kind == StepKind::prefill ? kPrefill
                                                  : kFa;
  if (check != nullptr) return check(subject);
  return skipped("the claim says nothing about steps of kind " + std::string(name(kind)));
}

}  // namespace mla::prop
