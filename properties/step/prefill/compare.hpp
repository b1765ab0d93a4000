// Comparison of prefill steps: against the reference, and of two of them bit for bit.
#pragma once

#include <optional>
#include <string>

#include "cpu_backend/decode/reference.hpp"
#include "properties/step/prefill/step.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// Blames the works of the plan.
Outcome compare(const PrefillStep& step, const cpu::ReferenceResult& reference);

// The first difference in the bits of out or LSE; nothing if the results are equal.
std::optional<std::string> difference(const PrefillStep& a, const PrefillStep& b);

}  // namespace mla::prop
