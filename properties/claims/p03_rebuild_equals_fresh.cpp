// P03: a step built in buffers that other steps have used equals one built in fresh buffers.
//
// The steps before it are longer, have other query lengths, and the step after it is shorter: the
// three ways in which a value can survive where it must not.
#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/built_step.hpp"

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

}  // namespace

Outcome p03_rebuild_equals_fresh(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  const Case& c = subject.spec();
  Random random(c, "P03");
  const Case longer = longer_step(c, random);
  const Case shorter = shorter_step(c);
  const DecodeBuffers room = room_for({longer, c, shorter});
  Sequence used{subject, room};
  if (const auto first = used.build(longer); !first)
    return skipped("the step before is refused: " + first.error().message);
  for (const Case* step : {&c, &shorter}) {
    const Result<BuiltStep> again = used.build(*step);
    const Result<BuiltStep> fresh = Sequence{subject, room}.build(*step);
    const std::string where = say("after ", step == &c ? format_case(longer) : "the case",
                                  " the step ", format_case(*step));
    if (again.ok() != fresh.ok()) return failed(where + " is taken or refused, by its history");
    if (!fresh) return passed();  // the shorter step alone may be refused
    if (const auto why = difference(*again, *fresh)) return failed(where + " differs: " + *why);
  }
  return passed();
}

}  // namespace mla::prop
