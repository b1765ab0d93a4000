#include "properties/step/compare_subject.hpp"

#include "properties/step/decode/compare.hpp"
#include "properties/step/fa/compare.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

Outcome compare_decode(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return skipped(metadata.error().message);
  const auto& result = subject.result();
  if (!result) return skipped(result.error().message);
  const auto& reference = subject.reference();
  if (!reference) return skipped(reference.error().message);
  return compare({.result = *result,
                  .reference = *reference,
                  .metadata = *metadata,
                  .requests = subject.batch()->requests,
                  .heads = subject.spec().heads});
}

}  // namespace

Outcome compare_with_reference(Subject& subject) {
  switch (subject.spec().kind()) {
    case StepKind::decode:
      return compare_decode(subject);
    case StepKind::prefill:
      if (const auto& run = subject.prefill(); !run) return skipped(run.error().message);
      return compare(*subject.prefill()->steps.front(), subject.prefill_reference());
    case StepKind::fa:
      break;
  }
  const auto& steps = subject.fa();
  return steps ? compare(*steps) : skipped(steps.error().message);
}

}  // namespace mla::prop
