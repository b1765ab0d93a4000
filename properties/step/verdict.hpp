// Verdicts: what a property says about a case, and the exit code of a run.
//
// Source: design, "Verdicts and exit codes". Nothing passes without having run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/step/damage.hpp"

namespace mla::prop {

enum class Verdict : std::uint8_t {
  pass,
  fail,
  inconclusive,     // time ran out, the generator gave up, or nothing ran
  skip,             // the property says nothing about the case, or it is refused with a reason
  not_applicable,   // whatever the case, the property says nothing here: kind of step, device
  known_fail,       // failed, and is listed as failing
  unexpected_pass,  // held, although listed as failing
};
std::string_view name(Verdict verdict);

enum class ExitCode : int {
  held = 0,
  failed = 1,
  usage = 2,
  environment = 3,
  inconclusive = 4,
  unexpected_pass = 5,
  skipped = 10,
};

// What one property found on one case.
struct Outcome {
  Verdict verdict = Verdict::pass;
  std::string message;               // a sentence with the values
  std::vector<std::string> details;  // worst elements with coordinates, guilty work items
  DamageSet damage = {};             // that the property saw itself; none: ask its launches
};

inline Outcome passed() {
  return {};
}
inline Outcome failed(std::string message) {
  return {Verdict::fail, std::move(message), {}};
}
inline Outcome skipped(std::string reason) {
  return {Verdict::skip, std::move(reason), {}};
}
inline Outcome not_applicable(std::string reason) {
  return {Verdict::not_applicable, std::move(reason), {}};
}

}  // namespace mla::prop
