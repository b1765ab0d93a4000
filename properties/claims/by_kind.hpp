// One claim, several kinds of steps: each is checked by the function that knows its kind.
//
//   Property{"P04", ..., by_kind<p04_indptr_shape, nullptr, fa_indptr_shape>}
//
// The functions are those for decode, prefill and FA steps. A kind without one, and a kind that the
// backend does not execute, is not applicable.
#pragma once

#include <array>
#include <string>
#include <type_traits>

#include "properties/step/property.hpp"

namespace mla::prop {

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
