#include "properties/step/compare_subject.hpp"

#include "properties/step/compare.hpp"
#include "properties/step/prefill/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {

Outcome compare_with_reference(Subject& subject) {
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

Outcome compare_prefill(Subject& subject) {
  return compare_prefill(*subject.prefill()->steps.front(), subject.prefill_reference());
}

}  // namespace mla::prop
