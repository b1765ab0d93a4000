// The step of a subject against its reference.
#pragma once

#include "properties/step/subject.hpp"
#include "properties/step/verdict.hpp"

namespace mla::prop {

// Of any kind; of a case with several prefill steps the first. Skips with the reason if a stage
// refused the case.
Outcome compare_with_reference(Subject& subject);

}  // namespace mla::prop
