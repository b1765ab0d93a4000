// What a builder may have asked the planner by mistake, instead of what the dump says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/dump/calls.hpp"

namespace mla::dump {

struct Mistake {
  std::string sentence;  // "it is the plan of 16 heads, the kernel gets 128"
  std::function<void(PlannerCall&)> ask;
};

// The likely ones first.
std::vector<Mistake> likely_mistakes(const PlannerCall& call);

}  // namespace mla::dump
