// P11: padding requests change nothing for live rows, never make a step fail, and end up defined.
#include <cstddef>
#include <span>
#include <vector>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/claims/support/topology.hpp"
#include "properties/generate/cost.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

template <class T>
void prepend(std::vector<T>& values, const std::vector<T>& others, std::int64_t kept) {
  values.insert(values.begin(), others.begin(), others.begin() + kept);
}

// The reference of the padded batch: live rows have the one they had, padding rows a new one.
cpu::ReferenceResult reference_of(Subject& subject, Subject& padded, std::int64_t live_rows) {
  const Case& c = padded.spec();
  const auto live = static_cast<std::ptrdiff_t>(c.requests.size());
  Batch batch = *padded.batch();
  batch.requests.erase(batch.requests.begin(), batch.requests.begin() + live);
  batch.block_table.erase(batch.block_table.begin(),
                          batch.block_table.begin() + live * batch.columns);
  const std::int64_t pairs = live_rows * c.heads;
  const std::span<const std::byte> q = padded.tensors()->q;
  cpu::ReferenceResult all = cpu::dense_reference(
      {.batch = batch,
       .tensors = *padded.tensors(),
       .q = q.subspan(static_cast<std::size_t>(pairs * c.widths().key_bytes(c.dtype.q))),
       .arch = c.arch,
       .dtype = c.dtype,
       .model_heads = c.heads,
       .causal = c.causal});
  const cpu::ReferenceResult& before = *subject.reference();
  const std::int64_t elements = pairs * c.widths().value().count();
  prepend(all.out, before.out, elements);
  prepend(all.out_bound, before.out_bound, elements);
  prepend(all.lse, before.lse, pairs);
  prepend(all.lse_bound, before.lse_bound, pairs);
  return all;
}

// Whether live requests in place of the new padding are refused as well: planner v1.1 has scratch
// memory for so many.
bool too_many_requests(const Subject& subject, const Subject& padded) {
  Case live = subject.spec();
  const std::int64_t more = padded.spec().pad_requests - live.pad_requests;
  live.requests.insert(live.requests.end(), static_cast<std::size_t>(more), live.requests.back());
  Subject others = subject.sibling(live);
  const auto& metadata = others.metadata();
  return !metadata && metadata.error().code == ErrorCode::unsupported;
}

Outcome decode_pad_noninterference(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  if (!subject.reference()) return refusal(subject.reference().error());
  Random random(subject.spec(), "P11");
  Case padded_case = subject.spec();
  padded_case.pad_requests += random.between(1, 4);
  if (const MaybeError too_much = why_not_executed(padded_case, subject.limits()))
    return refusal(*too_much);
  Subject padded = subject.sibling(padded_case);
  if (!padded.batch())
    return skipped("padded, the cache is too large: " + padded.batch().error().message);
  const auto& padded_result = padded.result();
  const std::string where = say("with ", padded_case.pad_requests, " for ",
                                subject.spec().pad_requests, " padding requests ");
  if (!padded_result) {
    // Padding lowers the average of keys, by which AITER's wrapper may take a single split.
    if (padded_result.error().code == ErrorCode::unsupported && subject.spec().decode().need_lse &&
        subject.shape()->route == Route::split)
      return refusal(padded_result.error());
    // v1.0 and v1.1 are broken for requests without keys (aiter.md 3.3, 3.4).
    if (padded_result.error().code == ErrorCode::refused &&
        subject.shape()->planner != plan::PlannerVersion::v1_2)
      return refusal(padded_result.error());
    if (padded_result.error().code == ErrorCode::unsupported && too_many_requests(subject, padded))
      return refusal(padded_result.error());
    return failed(where + "the step is refused: " + padded_result.error().message);
  }
  const Topology alone = topology_of(*subject.metadata());
  const Topology with_pads = topology_of(*padded.metadata());
  const bool same_route = subject.shape()->route == padded.shape()->route;
  std::int64_t live_rows = 0;
  for (const RequestSpec& r : subject.spec().requests) live_rows += r.qo_len;
  for (std::int64_t row = 0; row < live_rows; ++row) {
    const auto i = static_cast<std::size_t>(row);
    const MatchedRows rows{row, row, 1};
    const bool same_pieces = same_route && alone.pieces[i] == with_pads.pieces[i];
    const auto why = same_pieces ? bitwise_difference(*result, *padded_result, padded_case.heads,
                                                      std::span(&rows, 1))
                                 : beyond_bounds(*result, *padded_result, {row, row},
                                                 padded_case.heads, *subject.reference());
    if (why) return failed(where + "a live row changes: " + *why);
  }
  Outcome outcome = compare({.result = *padded_result,
                             .reference = reference_of(subject, padded, live_rows),
                             .metadata = *padded.metadata(),
                             .requests = padded.batch()->requests,
                             .heads = padded_case.heads});
  if (outcome.verdict == Verdict::fail) outcome.message = where + outcome.message;
  return outcome;
}

}  // namespace

constexpr Property kP11{"P11", "pad_noninterference",
                        "Padding requests change nothing for live rows and never make a step fail.",
                        by_kind<decode_pad_noninterference, nullptr, nullptr>};

}  // namespace mla::prop
