// P03: a step built in buffers that other steps have used equals one built in fresh buffers.
//
// The steps before it are longer, have other query lengths, and the step after it is shorter: the
// three ways in which a value can survive where it must not.
#include <algorithm>

#include "core/case/steps.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/built_step.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

struct Sequence {
  Subject& subject;
  DecodeBuffers buffers;

  Result<BuiltStep> build(const Case& c) {
    Result<Batch> batch = make_batch(c);
    if (!batch) return batch.error();
    subject.hooks().on_batch(c, *batch);
    Result<ResolvedShape> shape = subject.builder().shape(c, *batch);
    if (!shape) return shape.error();
    Result<DecodeMetadata> md = subject.builder().build(*batch, *shape, buffers);
    if (!md) return md.error();
    return built_step(std::move(*md), buffers);
  }
};

Case longer_step(const Case& c, Random& random) {
  Case longer = c;
  longer.pad_requests = 0;
  const std::int64_t q = random.below(2) == 0 ? 1 : c.requests[0].qo_len;
  for (RequestSpec& r : longer.requests) r = {q, r.kv_len + q + random.between(1, 90)};
  for (std::int64_t i = random.between(1, 3); i > 0; --i) longer.requests.push_back({q, q + 100});
  return longer;
}

Case shorter_step(const Case& c) {
  Case shorter = c;
  shorter.pad_requests = 0;
  shorter.requests.resize((c.requests.size() + 1) / 2);
  return shorter;
}

// Room for each of the steps, in rows as well as in requests.
DecodeBuffers room_for(const std::vector<Case>& steps) {
  std::int64_t requests = 0;
  std::int64_t pages = 0;
  for (const Case& c : steps) {
    std::int64_t rows = c.pad_requests;
    std::int64_t sum = 0;
    for (const RequestSpec& r : c.requests) {
      rows += std::max<std::int64_t>(r.qo_len, 1);
      sum += std::max<std::int64_t>(r.qo_len, 1) * (ceil_div(r.kv_len, c.page_size) + 1);
    }
    for (std::int64_t p = 0; p < c.pad_requests; ++p) {
      rows += c.requests[0].qo_len;
      sum += c.requests[0].qo_len * (c.requests[0].qo_len + 1);
    }
    requests = std::max(requests, rows);
    pages = std::max(pages, sum);
  }
  DecodeBuffers buffers;
  buffers.qo_indptr.assign(static_cast<std::size_t>(requests) + 1, 0);
  buffers.kv_indptr.assign(static_cast<std::size_t>(requests) + 1, 0);
  buffers.last_page_len.assign(static_cast<std::size_t>(requests), 1);
  buffers.kv_indices.assign(static_cast<std::size_t>(pages), -1);
  return buffers;
}

Outcome decode_rebuild_equals_fresh(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  Random random(subject.spec(), "P03");
  std::vector<Case> steps = single_steps(subject.spec());
  const Case shorter = shorter_step(steps.front());
  steps.insert(steps.begin(), longer_step(steps.front(), random));
  steps.push_back(shorter);
  const DecodeBuffers room = room_for(steps);
  Sequence used{subject, room};
  if (const auto first = used.build(steps.front()); !first)
    return skipped("the step before is refused: " + first.error().message);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const Result<BuiltStep> again = used.build(steps[i]);
    const Result<BuiltStep> fresh = Sequence{subject, room}.build(steps[i]);
    const std::string where =
        say("after ", format_case(steps[i - 1]), " the step ", format_case(steps[i]));
    if (again.ok() != fresh.ok()) return failed(where + " is taken or refused, by its history");
    if (!fresh) return passed();  // the shorter step alone may be refused
    if (const auto why = difference(*again, *fresh)) return failed(where + " differs: " + *why);
  }
  return passed();
}

// For FA steps: one with all three runs, longer than most, to leave its traces in every buffer.
Case longer_fa_step(const Case& c) {
  const std::int64_t rows = c.fa().draft_tokens + 6;
  Case before = c;
  before.requests = {{1, 200}, {1, 90}, {rows, 250}, {rows + 2, 60}, {rows, rows}};
  for (std::size_t i = 0; i < c.requests.size(); ++i) before.requests.push_back({1, 40});
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

Outcome fa_rebuild_equals_fresh(Subject& subject) {
  std::vector<Case> steps = single_steps(subject.spec());
  steps.insert(steps.begin(), longer_fa_step(steps.front()));
  // An engine has one workspace for all its steps, and the longer one has two extends.
  for (Case& c : steps)
    c.fa().workspace_tokens = std::max<std::int64_t>(c.fa().workspace_tokens, 2);
  const auto used = run_fa(steps, subject.context(), 1);
  if (!used) return refusal(used.error());
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const auto fresh = run_fa({steps[i]}, subject.context(), 1);
    if (!fresh) return refusal(fresh.error());
    const std::string where = say("step ", i - 1, " after a longer one: ");
    if (const auto why = list_difference((*used)[i].lists, fresh->front().lists))
      return failed(where + *why);
    if (const auto why = difference((*used)[i], fresh->front())) return failed(where + *why);
  }
  return passed();
}

}  // namespace

constexpr Property kP03{"P03", "rebuild_equals_fresh",
                        "A step built in used buffers equals the same step built in fresh ones.",
                        by_kind<decode_rebuild_equals_fresh, nullptr, fa_rebuild_equals_fresh>};

}  // namespace mla::prop
