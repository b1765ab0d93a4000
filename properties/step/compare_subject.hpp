// The step of a subject against its reference.
#pragma once

#include "properties/step/subject.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// Kind decode; skips with the reason if a stage refused the case.
Outcome compare_with_reference(Subject& subject);

// Kind prefill; only if prefill() is ok.
Outcome compare_prefill(Subject& subject);

}  // namespace mla::prop
