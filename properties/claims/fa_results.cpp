// P03, P12, P18 and P21 for FA steps: results equal the reference, whatever ran before and wherever
// the blocks lie, and a step of decodes keeps the host going.
#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/fa_claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

// A step with all three runs, longer than most, to leave its traces in every buffer.
Case longer_step(const Case& c) {
  const std::int64_t rows = c.fa().draft_tokens + 6;
  Case before = c;
  before.later_steps.clear();
  before.requests = {{1, 200}, {1, 90}, {rows, 250}, {rows + 2, 60}, {rows, rows}};
  for (std::size_t i = 0; i < c.requests.size(); ++i) before.requests.push_back({1, 40});
  before.fa().workspace_tokens = std::max<std::int64_t>(c.fa().workspace_tokens, 2);
  return before;
}

std::optional<std::string> list_difference(const FaLists& a, const FaLists& b) {
  const auto name = [](const char* list) { return say(list, " differs"); };
  if (a.query_start_loc != b.query_start_loc) return name("query_start_loc");
  if (a.decode_cu_seqlens != b.decode_cu_seqlens) return name("cu_seqlens_q of the decodes");
  if (a.extend_query_start_loc != b.extend_query_start_loc)
    return name("query_start_loc of the extends");
  if (a.prefill_query_start_loc != b.prefill_query_start_loc)
    return name("query_start_loc of the prefills");
  if (a.cu_seq_lens_chunk != b.cu_seq_lens_chunk) return name("cu_seq_lens_chunk");
  if (a.chunk_starts != b.chunk_starts) return name("chunk_starts");
  if (a.token_to_batch != b.token_to_batch) return name("token_to_batch");
  if (a.swa_token_to_batch != b.swa_token_to_batch) return name("swa_token_to_batch");
  return std::nullopt;
}

// The first difference of two outputs in the bits.
std::optional<std::string> bit_difference(const cpu::FaResult& a, const cpu::FaResult& b) {
  const auto at = std::mismatch(a.out.begin(), a.out.end(), b.out.begin(), b.out.end());
  if (a.out.size() == b.out.size() && at.first == a.out.end()) return std::nullopt;
  return say("element ", at.first - a.out.begin(), " of ", a.out.size(), " differs");
}

}  // namespace

Outcome fa_rebuild_equals_fresh(Subject& subject) {
  std::vector<Case> steps = fa_steps(subject.spec());
  steps.insert(steps.begin(), longer_step(subject.spec()));
  const auto used = run_fa(steps, subject);
  if (!used) return refusal(used.error());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto fresh = run_fa({steps[i]}, subject);
    if (!fresh) return refusal(fresh.error());
    const std::string where = say("step ", i - 1, " after a longer one: ");
    if (const auto why = list_difference((*used)[i].lists, fresh->front().lists))
      return failed(where + *why);
    if (const auto why = bit_difference((*used)[i].result, fresh->front().result))
      return failed(where + *why);
  }
  return passed();
}

Outcome fa_qlen_sweep(Subject& subject) {
  const auto& steps = subject.fa();
  return steps ? compare_fa(*steps) : refusal(steps.error());
}

Outcome fa_page_relabel(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  Random random(subject.spec(), "P18");
  Case other = subject.spec();
  other.origin_block = random.pick(std::vector<std::int64_t>{0, 5, 65530, (1 << 24) - 3});
  // A shared prefix is part of the data, so its blocks stay shared.
  if (other.layout.kind != Layout::prefix)
    other.layout = {
        random.pick(std::vector{Layout::contiguous, Layout::descending, Layout::interleaved}), 0};
  Subject elsewhere = subject.sibling(other);
  const auto& moved = elsewhere.fa();
  if (!moved) return refusal(moved.error());
  for (const FaStepRun& step : *moved)
    if (!step.result.faults.empty())
      return failed(
          say("with blocks from ", other.origin_block, ": ", step.result.faults.front().what));
  for (std::size_t i = 0; i < steps->size(); ++i)
    if (const auto why = bit_difference((*steps)[i].result, (*moved)[i].result))
      return failed(say("with blocks from ", other.origin_block, ", layout ",
                        name(other.layout.kind), ": step ", i, " ", *why));
  return passed();
}

Outcome fa_no_sync(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const FaStepRun& step = (*steps)[i];
    std::string waits;
    for (const std::string& wait : step.waits) waits += (waits.empty() ? "" : ", ") + wait;
    const auto& requests = step.ordered.batch.requests;
    const std::int64_t threshold = fa::decode_threshold(step.spec);
    const bool decodes = std::all_of(requests.begin(), requests.end(),
                                     [threshold](const auto& r) { return r.qo_len <= threshold; });
    if (waits != (decodes ? "" : "seq_lens"))
      return failed(say("step ", i, decodes ? ", decodes only," : "",
                        " waits for the device: ", waits.empty() ? "never" : waits));
  }
  return passed();
}

}  // namespace mla::prop
