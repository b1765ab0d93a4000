#include "properties/step/prefill/compare.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/say.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/prefill/plan_rules.hpp"

namespace mla::prop {

using prefill::kVDim;

Outcome compare(const PrefillStep& step, const cpu::ReferenceResult& reference) {
  return compare_elements({.out = step.result.out,
                           .lse = step.result.lse,
                           .faults = step.result.faults,
                           .reference = reference,
                           .requests = step.batch.requests,
                           .heads = step.spec.heads,
                           .dims = kVDim,
                           .blame = [&step](std::int64_t row, std::int64_t head) {
                             return guilty_works(step, row, head);
                           }});
}

std::optional<std::string> difference(const PrefillStep& a, const PrefillStep& b) {
  if (a.result.lse.size() != b.result.lse.size()) return "the results have different sizes";
  for (std::size_t i = 0; i < a.result.out.size(); ++i)
    if (a.result.out[i] != b.result.out[i]) {
      const auto pair = static_cast<std::int64_t>(i) / kVDim;
      return say("out of ", row_name(a.batch.requests, pair / a.spec.heads), " head ",
                 pair % a.spec.heads, " differs");
    }
  for (std::size_t i = 0; i < a.result.lse.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a.result.lse[i]) !=
        std::bit_cast<std::uint32_t>(b.result.lse[i]))
      return "LSE of " + row_name(a.batch.requests, static_cast<std::int64_t>(i) / a.spec.heads) +
             " differs";
  return std::nullopt;
}

}  // namespace mla::prop
