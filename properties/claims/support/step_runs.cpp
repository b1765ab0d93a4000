#include "properties/claims/support/step_runs.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

std::string step_name(std::size_t i) {
  return say("step ", i);
}

}  // namespace

std::int64_t kv_bound(const std::vector<Case>& steps) {
  std::int64_t bound = 0;
  for (const Case& c : steps)
    for (const RequestSpec& r : c.requests) bound = std::max({bound, r.kv_len, r.qo_len});
  return bound;
}

SequenceOptions eager_on(const Subject& subject, std::int64_t max_kv_len) {
  return {
      .max_kv_len = max_kv_len, .tensors = &subject.context().tensors, .limits = subject.limits()};
}

std::optional<std::string> difference(const std::vector<StepRun>& a,
                                      const std::vector<StepRun>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].result.ok() != b[i].result.ok())
      return step_name(i) + " is refused in one run only: " +
             (a[i].result.ok() ? b[i].result : a[i].result).error().message;
    if (!a[i].result.ok()) continue;
    const auto bits = bitwise_difference(*a[i].result, *b[i].result, a[i].spec.heads);
    if (bits) return step_name(i) + ": " + *bits;
  }
  return std::nullopt;
}

}  // namespace mla::prop
