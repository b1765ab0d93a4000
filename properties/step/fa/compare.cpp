#include "properties/step/fa/compare.hpp"

#include <algorithm>

#include "core/say.hpp"
#include "properties/step/compare.hpp"

namespace mla::prop {
namespace {

std::int64_t request_of(const Batch& batch, std::int64_t row) {
  std::int64_t end = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    end += batch.requests[r].qo_len;
    if (row < end) return static_cast<std::int64_t>(r);
  }
  return static_cast<std::int64_t>(batch.requests.size());
}

Outcome compare_step(const FaStepRun& run) {
  const cpu::ReferenceResult reference = reference_of(run);
  const Batch& batch = run.ordered.batch;
  return compare_elements(
      {.out = run.result.out,
       .lse = {},
       .faults = run.result.faults,
       .reference = reference,
       .requests = batch.requests,
       .heads = run.layer.heads.count(),
       .dims = run.layer.head_dim,
       .run = [&](std::int64_t row) { return run_name(run, request_of(batch, row)); }});
}

}  // namespace

std::string run_name(const FaStepRun& step, std::int64_t request) {
  const ThreeWaySplit& s = step.parts.split;
  if (request < s.decodes.count()) return "decode";
  return request < (s.decodes + s.extends).count() ? "extend" : "prefill";
}

Outcome compare(const std::vector<FaStepRun>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Outcome outcome = compare_step(steps[i]);
    if (outcome.verdict == Verdict::pass) continue;
    if (steps.size() > 1) outcome.message = say("step ", i, " ", outcome.message);
    return outcome;
  }
  return passed();
}

std::optional<std::string> difference(const FaStepRun& a, const FaStepRun& b) {
  const auto& x = a.result.out;
  const auto& y = b.result.out;
  const auto at = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
  if (x.size() == y.size() && at.first == x.end()) return std::nullopt;
  return say("element ", at.first - x.begin(), " of ", x.size(), " differs");
}

}  // namespace mla::prop
