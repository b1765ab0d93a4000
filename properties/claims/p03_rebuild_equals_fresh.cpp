// P03: a step built in buffers that other steps have used equals one built in fresh buffers.
//
// The steps before it are longer, have other query lengths, and the step after it is shorter: the
// three ways in which a value can survive where it must not.
#include <algorithm>

#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/stages.hpp"

namespace mla::prop {
namespace {

// One step of the sequence; the index arrays of a metadata record are views, so a step is copied
// out before the next one is built.
struct Built {
  DecodeBuffers buffers;  // whole, with tails
  std::size_t live_pages = 0;
  std::optional<plan::Plan> plan;
  std::vector<std::int64_t> kv_lens;
  std::vector<RowRange> keyless;
  bool persistent = false;
};

struct Sequence {
  Subject& subject;
  DecodeBuffers buffers;

  Result<Built> build(const Case& c) {
    const Interposer* interposer = subject.interposer();
    Result<Batch> batch = make_batch(c);
    if (!batch) return batch.error();
    if (interposer != nullptr) interposer->on_batch(c, *batch);
    Result<ResolvedShape> shape = resolve_stage(interposer, c, *batch);
    if (!shape) return shape.error();
    Result<DecodeMetadata> md = build_stage(interposer, c, *batch, *shape, buffers);
    if (!md) return md.error();
    Built built;
    built.buffers = buffers;
    built.live_pages = static_cast<std::size_t>(std::max(0, md->kv_indptr.back()));
    built.persistent = md->has_persistent_metadata();
    built.kv_lens = md->kv_lens;
    built.keyless = md->keyless_rows;
    built.plan = std::move(md->plan);
    return built;
  }
};

Case longer_step(const Case& c, Dice& dice) {
  Case longer = c;
  longer.pad_requests = 0;
  const std::int64_t q = dice.below(2) == 0 ? 1 : c.requests[0].qo_len;
  for (RequestSpec& r : longer.requests) r = {q, r.kv_len + q + dice.between(1, 90)};
  for (std::int64_t i = dice.between(1, 3); i > 0; --i) longer.requests.push_back({q, q + 100});
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

bool same_ranges(const std::vector<RowRange>& a, const std::vector<RowRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](RowRange x, RowRange y) { return x.begin == y.begin && x.end == y.end; });
}

std::optional<std::string> differ(const Built& used, const Built& fresh) {
  const auto array = [](const char* what, const std::vector<std::int32_t>& a,
                        const std::vector<std::int32_t>& b,
                        std::size_t count) -> std::optional<std::string> {
    for (std::size_t i = 0; i < count; ++i)
      if (a[i] != b[i])
        return std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(a[i]) +
               ", a fresh build has " + std::to_string(b[i]);
    return std::nullopt;
  };
  const DecodeBuffers& u = used.buffers;
  const DecodeBuffers& f = fresh.buffers;
  if (auto why = array("qo_indptr", u.qo_indptr, f.qo_indptr, f.qo_indptr.size())) return why;
  if (auto why = array("kv_indptr", u.kv_indptr, f.kv_indptr, f.kv_indptr.size())) return why;
  if (auto why = array("last_page_len", u.last_page_len, f.last_page_len, fresh.kv_lens.size()))
    return why;
  if (auto why = array("kv_indices", u.kv_indices, f.kv_indices, fresh.live_pages)) return why;
  if (used.kv_lens != fresh.kv_lens) return "the KV lengths differ";
  if (!same_ranges(used.keyless, fresh.keyless)) return "the keyless rows differ";
  if (used.persistent != fresh.persistent) return "only one of them has a plan";
  if (used.plan && !(*used.plan == *fresh.plan)) return "the plan differs from a fresh one";
  return std::nullopt;
}

}  // namespace

Outcome p03_rebuild_equals_fresh(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  const Case& c = subject.spec();
  Dice dice(c, "P03");
  const Case longer = longer_step(c, dice);
  const Case shorter = shorter_step(c);
  const DecodeBuffers room = room_for({longer, c, shorter});
  Sequence used{subject, room};
  if (const auto first = used.build(longer); !first)
    return skipped("the step before is refused: " + first.error().message);
  for (const Case* step : {&c, &shorter}) {
    const Result<Built> again = used.build(*step);
    const Result<Built> fresh = Sequence{subject, room}.build(*step);
    const std::string where = "after " +
                              std::string(step == &c ? format_case(longer) : "the case") +
                              " the step " + format_case(*step);
    if (again.ok() != fresh.ok()) return failed(where + " is taken or refused, by its history");
    if (!fresh) return passed();  // the shorter step alone may be refused
    if (const auto why = differ(*again, *fresh)) return failed(where + " differs: " + *why);
  }
  return passed();
}

}  // namespace mla::prop
