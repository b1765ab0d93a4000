// Target: several steps in the same buffers, each as if it were the first, each with a valid plan.
#include <utility>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/plan/plan_check.hpp"
#include "properties/fuzz/target.hpp"
#include "properties/generate/cases.hpp"
#include "properties/step/decode/built_step.hpp"

namespace mla::prop::fuzz {
namespace {

std::optional<std::string> invalid(const DecodeMetadata& md) {
  if (!md.plan) return std::nullopt;
  const auto violations = plan::plan_check(check_input_of(md));
  if (violations.empty()) return std::nullopt;
  return violations.front().what;
}

// Buffers of an earlier step, as large as this one needs.
void grow(DecodeBuffers& used, const DecodeBuffers& needed) {
  const auto at_least = [](std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    if (a.size() < b.size()) a.resize(b.size(), -7);
  };
  at_least(used.qo_indptr, needed.qo_indptr);
  at_least(used.kv_indptr, needed.kv_indptr);
  at_least(used.kv_indices, needed.kv_indices);
  at_least(used.last_page_len, needed.last_page_len);
}

std::optional<Finding> judge_step(const Case& c, DecodeBuffers& used) {
  const auto batch = make_batch(c);
  if (!batch) return std::nullopt;
  const auto shape = resolve_shape(c, *batch);
  if (!shape) return std::nullopt;
  DecodeBuffers fresh_buffers = make_decode_buffers(c, *batch, *shape);
  grow(used, fresh_buffers);
  const DecodeMetadataBuilder builder({}, StepHooks::none());
  auto fresh = builder.build(*batch, *shape, fresh_buffers);
  auto again = builder.build(*batch, *shape, used);
  if (fresh.ok() != again.ok())
    return Finding{format_case(c), "is refused in one of two buffers only: " +
                                       (fresh.ok() ? again : fresh).error().message};
  if (!fresh) return std::nullopt;
  const auto what = invalid(*fresh);
  if (const auto why = difference(built_step(std::move(*again), used),
                                  built_step(std::move(*fresh), fresh_buffers)))
    return Finding{format_case(c), "in buffers that were used before, " + *why};
  if (what) return Finding{format_case(c), *what};
  return std::nullopt;
}

}  // namespace

std::optional<Finding> fuzz_builder(Bytes bytes) {
  ByteChoices choices(bytes);
  DecodeBuffers used;
  static const CaseDomain domain = [] {
    CaseDomain decodes = random_domain(20);
    decodes.kind = {{StepKind::decode}};
    return decodes;
  }();
  for (int step = 0; step < 4 && !choices.empty(); ++step)
    if (auto finding = judge_step(draw_case(choices, domain), used)) return finding;
  return std::nullopt;
}

}  // namespace mla::prop::fuzz
