#include <algorithm>
#include <array>

#include "properties/fuzz/target.hpp"

namespace mla::prop::fuzz {
namespace {

constexpr std::array kTargets = {
    Target{"batch", "A drawn case is one line, and its blocks lie where its table says.",
           fuzz_batch},
    Target{"builder",
           "Steps in used buffers are built as in fresh ones, and their plans are valid.",
           fuzz_builder},
    Target{"capture", "A document or bundle is judged, or refused with the key and its value.",
           fuzz_capture},
    Target{"code_object",
           "Machine code is refused in words, or runs and touches what it may touch.",
           fuzz_code_object},
    Target{"line", "A line is refused, or printed and read back without a change.", fuzz_line},
    Target{"planners", "A planner refuses, or gives a valid plan; two that may run agree.",
           fuzz_planners},
    Target{"prefill_planner", "The host planner refuses, or covers every key of every head once.",
           fuzz_prefill_planner},
};

}  // namespace

std::span<const Target> all_targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  const auto found = std::find_if(kTargets.begin(), kTargets.end(),
                                  [name](const Target& t) { return t.name == name; });
  return found == kTargets.end() ? nullptr : &*found;
}

}  // namespace mla::prop::fuzz
