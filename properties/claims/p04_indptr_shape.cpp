// P04: the index lists have one entry more than the batch, start at 0, never run backwards, their
// differences are the lengths, and their tails repeat the last value.
#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/fa/run.hpp"

namespace mla::prop {
namespace {

// Buffers with room to spare, full of what an earlier step may have left.
DecodeBuffers dirty_buffers(const DecodeBuffers& exact, std::size_t spare) {
  DecodeBuffers dirty = exact;
  const auto spoil = [](std::vector<std::int32_t>& v, std::size_t size) {
    v.resize(size);
    for (std::size_t i = 0; i < size; ++i) v[i] = 11147 - static_cast<std::int32_t>(i * 97);
  };
  spoil(dirty.qo_indptr, exact.qo_indptr.size() + spare);
  spoil(dirty.kv_indptr, exact.kv_indptr.size() + spare);
  spoil(dirty.last_page_len, exact.last_page_len.size() + spare);
  spoil(dirty.kv_indices, exact.kv_indices.size() + spare);
  return dirty;
}

std::string entry(const char* name, std::size_t i, std::int64_t value) {
  return say(name, "[", i, "] is ", value);
}

// The list as a kernel gets it, and the buffer after it up to its capacity.
std::optional<std::string> check_list(const char* name, std::span<const std::int32_t> list,
                                      std::span<const std::int32_t> buffer,
                                      const std::vector<std::int64_t>& lengths) {
  if (list.size() != lengths.size() + 1)
    return say(name, " has ", list.size(), " entries for ", lengths.size(), " requests");
  if (list[0] != 0) return entry(name, 0, list[0]) + ", not 0";
  for (std::size_t r = 0; r < lengths.size(); ++r)
    if (list[r + 1] - list[r] != lengths[r])
      return say(entry(name, r + 1, list[r + 1]), " after ", list[r], ", but the length of ",
                 request_name(static_cast<std::int64_t>(r)), " is ", lengths[r]);
  for (std::size_t i = list.size(); i < buffer.size(); ++i)
    if (buffer[i] != list.back())
      return say(entry(name, i, buffer[i]), " in the tail, where the last value is ", list.back());
  return std::nullopt;
}

std::optional<std::string> check_last_pages(const DecodeMetadata& md) {
  for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
    const std::int64_t last = md.last_page_len[r];
    const std::int64_t pages = md.kv_indptr[r + 1] - md.kv_indptr[r];
    if (last < 1 || last > md.shape.page_size)
      return say(entry("last_page_len", r, last), ", outside 1 to ", md.shape.page_size);
    if (pages > 0 && (pages - 1) * md.shape.page_size + last != md.kv_lens[r])
      return say(entry("last_page_len", r, last), ": ", pages, " pages do not hold ", md.kv_lens[r],
                 " keys");
  }
  return std::nullopt;
}

Outcome decode_indptr_shape(Subject& subject) {
  const auto& shape = subject.shape();
  if (!shape) return refusal(shape.error());
  const Batch& batch = *subject.batch();
  Random random(subject.spec(), "P04");
  DecodeBuffers buffers = dirty_buffers(make_decode_buffers(subject.spec(), batch, *shape),
                                        static_cast<std::size_t>(random.between(1, 9)));
  const std::vector<std::int32_t> before = buffers.kv_indices;
  const auto md = subject.builder().lists(batch, *shape, buffers);
  if (!md) return refusal(md.error());
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> pages;
  for (const KernelRequest& r : kernel_requests(batch, *shape)) {
    rows.push_back(r.qo_len);
    pages.push_back(ceil_div(r.kv_len, shape->page_size));
  }
  if (const auto why = check_list("qo_indptr", md->qo_indptr, buffers.qo_indptr, rows))
    return failed(*why);
  if (const auto why = check_list("kv_indptr", md->kv_indptr, buffers.kv_indptr, pages))
    return failed(*why);
  if (md->last_page_len.size() != rows.size() || md->kv_lens.size() != rows.size())
    return failed(say("last_page_len has ", md->last_page_len.size(), " and kv_lens ",
                      md->kv_lens.size(), " entries for ", rows.size(), " requests"));
  if (const auto why = check_last_pages(*md)) return failed(*why);
  const std::int64_t live = md->kv_indptr.back();
  if (static_cast<std::int64_t>(md->kv_indices.size()) < live)
    return failed(say("kv_indices has ", md->kv_indices.size(), " entries for ", live, " pages"));
  // Only a captured launch needs a tail of -1; an eager one does not pay for the whole capacity.
  if (!std::equal(before.begin() + live, before.end(), buffers.kv_indices.begin() + live))
    return failed("an eager build writes to the tail of kv_indices");
  return passed();
}

// For FA steps: lists of cumulative lengths, whichever run of the batch they belong to.
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
  if (step.parts.extend.has_value() != (s.extends > Requests(0)) ||
      step.parts.prefill.has_value() != (s.prefills > Requests(0)))
    return say("a step of ", s.extends.count(), " extends and ", s.prefills.count(),
               " prefills has ", step.parts.extend ? "" : "no ", "part for extends and ",
               step.parts.prefill ? "one" : "none", " for prefills");
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

Outcome fa_indptr_shape(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  for (const FaStepRun& step : *steps)
    if (const auto why = check_step(step)) return failed(*why);
  return passed();
}

}  // namespace

constexpr Property kP04{"P04", "indptr_shape",
                        "Index lists have rows + 1 entries, start at 0, step by the lengths, and "
                        "their tails are constant.",
                        by_kind<decode_indptr_shape, nullptr, fa_indptr_shape>};

}  // namespace mla::prop
