// What a stage of a subject returns lies in the subject: a temporary subject has no stages.
#include "properties/step/subject.hpp"

bool is_planned(const mla::prop::Subject& subject, const mla::Case& other) {
#ifdef MLA_BREAK
  const auto& metadata = subject.sibling(other).metadata();
#else
  mla::prop::Subject sibling = subject.sibling(other);
  const auto& metadata = sibling.metadata();
#endif
  return metadata.ok();
}
