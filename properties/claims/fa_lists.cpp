// P04 for FA steps: every list of cumulative lengths has one entry more than its requests, starts
// at 0 and steps by their lengths, whichever run of the batch it belongs to.
#include "core/say.hpp"
#include "properties/claims/fa_claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

using Lengths = std::vector<std::int64_t>;

std::optional<std::string> check_sums(const std::string& name, std::span<const std::int32_t> list,
                                      const Lengths& lengths) {
  if (list.size() != lengths.size() + 1)
    return say(name, " has ", list.size(), " entries for ", lengths.size(), " requests");
  if (list[0] != 0) return say(name, " starts at ", list[0]);
  for (std::size_t r = 0; r < lengths.size(); ++r)
    if (list[r + 1] - list[r] != lengths[r])
      return say(name, " steps from ", list[r], " to ", list[r + 1], " over a length of ",
                 lengths[r]);
  return std::nullopt;
}

// Rows of the requests [first, first + count).
Lengths rows_of(const Batch& batch, Requests first, Requests count) {
  Lengths out;
  for (std::int64_t r = first.count(); r < (first + count).count(); ++r)
    out.push_back(batch.requests[static_cast<std::size_t>(r)].qo_len);
  return out;
}

std::optional<std::string> check_step(const FaStepRun& step) {
  const Batch& batch = step.ordered.batch;
  const ThreeWaySplit& s = step.parts.split;
  const Requests all(static_cast<std::int64_t>(batch.requests.size()));
  if (s.decodes + s.extends + s.prefills != all)
    return say((s.decodes + s.extends + s.prefills).count(), " of ", all.count(),
               " requests stand in a run");
  const FaLists& l = step.lists;
  if (auto why = check_sums("query_start_loc", l.query_start_loc, rows_of(batch, {}, all)))
    return why;
  if (s.decodes > Requests(0))
    if (auto why = check_sums("cu_seqlens_q of the decodes", l.decode_cu_seqlens,
                              rows_of(batch, {}, s.decodes)))
      return why;
  if (s.prefills > Requests(0))
    if (auto why = check_sums("query_start_loc of the prefills", l.prefill_query_start_loc,
                              rows_of(batch, s.decodes + s.extends, s.prefills)))
      return why;
  if (s.extends == Requests(0)) return std::nullopt;
  if (auto why = check_sums("query_start_loc of the extends", l.extend_query_start_loc,
                            rows_of(batch, s.decodes, s.extends)))
    return why;
  const auto row = static_cast<std::size_t>(s.extends.count()) + 1;
  if (l.cu_seq_lens_chunk.size() % row != 0 ||
      l.chunk_starts.size() != l.cu_seq_lens_chunk.size() / row * (row - 1))
    return say("cu_seq_lens_chunk has ", l.cu_seq_lens_chunk.size(), " and chunk_starts ",
               l.chunk_starts.size(), " entries for ", s.extends.count(), " extends");
  for (std::size_t at = 0; at < l.cu_seq_lens_chunk.size(); ++at) {
    const std::int32_t before = at % row == 0 ? 0 : l.cu_seq_lens_chunk[at - 1];
    const std::int32_t value = l.cu_seq_lens_chunk[at];
    if (at % row == 0 ? value != 0 : value < before)
      return say("cu_seq_lens_chunk[", at / row, "][", at % row, "] is ", value, " after ", before);
  }
  return std::nullopt;
}

}  // namespace

Outcome fa_indptr_shape(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  for (const FaStepRun& step : *steps)
    if (const auto why = check_step(step)) return failed(*why);
  return passed();
}

}  // namespace mla::prop
