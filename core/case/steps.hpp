// The steps of a sequence: each as a case of its own, and who is meant where one is refused.
#pragma once

#include <cstddef>
#include <vector>

#include "core/case/case.hpp"
#include "core/result.hpp"

namespace mla {

// In the order in which they run; one for a case that is no sequence.
std::vector<Case> single_steps(const Case& c);

// What is wrong with step `index` of a sequence.
Error of_step(std::size_t index, Error error);

}  // namespace mla
