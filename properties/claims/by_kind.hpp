// One claim, several kinds of steps: each is checked by the function that knows its kind.
//
//   Property{"P04", ..., by_kind<{.decode = p04_indptr_shape, .fa = fa_indptr_shape}>}
//
// A kind without a function is skipped. Fails: never by itself.
#pragma once

#include <string>

#include "properties/property.hpp"

namespace mla::prop {

struct KindChecks {
  Outcome (*decode)(Subject&) = nullptr;
  Outcome (*prefill)(Subject&) = nullptr;
  Outcome (*fa)(Subject&) = nullptr;
};

template <KindChecks kChecks>
Outcome by_kind(Subject& subject) {
  const StepKind kind = subject.spec().kind;
  const auto check = kind == StepKind::decode    ? kChecks.decode
                     : kind == StepKind::prefill ? kChecks.prefill
                                                 : kChecks.fa;
  if (check != nullptr) return check(subject);
  return skipped("the claim says nothing about steps of kind " + std::string(name(kind)));
}

}  // namespace mla::prop
