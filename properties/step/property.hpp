// Property: a claim about every case, with an id, a sentence and a check.
//
// One text serves random runs, enumeration, replay and fuzzing: a property is a function of a
// subject. The list is fixed at compile time and ordered by id. Catalogue:
// docs/reference/properties.md.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "properties/step/estimate.hpp"
#include "properties/step/subject.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// Of decode, prefill and FA, in the order of StepKind.
using StepKinds = std::array<bool, std::size(kStepKinds)>;

// A function of a subject. It fails with a sentence that names values, or skips with the reason why
// the claim says nothing here. Never throws. A case that a stage refuses is a skip, unless the
// claim is about refusing.
struct Check {
  using Function = Outcome (*)(Subject& subject);
  // A claim that is not about a step: it looks at functions, whatever the kind of the case. A list
  // of properties names it as it is.
  template <std::convertible_to<Function> F>
  constexpr Check(F looks)  // NOLINT(google-explicit-constructor)
      : function(looks) {}
  // A claim about steps: `kinds[k]` says whether it says something about those of StepKind k.
  constexpr Check(Function looks, StepKinds of) : function(looks), about_steps(true), kinds(of) {}
  Outcome operator()(Subject& subject) const { return function(subject); }

  Function function;
  bool about_steps = false;
  StepKinds kinds{true, true, true};
};

// Prefill steps that a claim about prefill is about: gfx950 alone computes some in fp8.
enum class PrefillSteps { all, fp8 };

struct Property {
  std::string_view id;        // "P05"
  std::string_view name;      // "plan_coverage"
  std::string_view sentence;  // what holds, in one sentence
  Check check;
  PrefillSteps prefill_steps = PrefillSteps::all;
  Held held = Held::more;  // for the estimate of memory
};

// Of which kinds of steps the property can say something on this backend. `arch` is the only one
// that the backend takes, if there is one.
StepKinds judged_kinds(const Property& property, const Backend& backend, std::optional<Arch> arch);
// Why the property can say nothing on this backend, whatever the case; nothing if it can.
std::optional<std::string> never_applies(const Property& property, const Backend& backend,
                                         std::optional<Arch> arch);

// "decode", "prefill" or "FA", for sentences.
std::string step_name(StepKind kind);
// "backend hip on emulated:gfx942 has no FA step"
std::string lacks_step(const Backend& backend, StepKind kind);
// "backend hip on emulated:gfx942"
std::string backend_name(const Backend& backend);

std::span<const Property> all_properties();
// One of these, or the canary P00 (canary.hpp); nullptr for any other id.
const Property* find_property(std::string_view id);

}  // namespace mla::prop
