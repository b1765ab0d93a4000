#include "core/case/steps.hpp"

#include "core/say.hpp"

namespace mla {

std::vector<Case> single_steps(const Case& c) {
  std::vector<Case> steps{c};
  steps.front().later_steps.clear();
  for (const auto& requests : c.later_steps) {
    steps.push_back(steps.front());
    steps.back().requests = requests;
  }
  return steps;
}

Error of_step(std::size_t index, Error error) {
  error.message = say("step ", index, ": ", error.message);
  return error;
}

}  // namespace mla
