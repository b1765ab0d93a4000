// P12: row i of q query rows is what a one-row request with the n - q + 1 + i keys that it sees
// gives, and rows whose exact values differ do differ.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/decode/run.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

// Every row of one request as a request of its own, over the same cache.
struct OneRowBatch {
  Case spec;
  Batch batch;
  DecodeTensors tensors;
};

OneRowBatch row_by_row(Subject& subject, std::int64_t request) {
  OneRowBatch one{subject.spec(), *subject.batch(), *subject.tensors()};
  const Batch& batch = *subject.batch();
  const auto [q, n] = batch.requests[static_cast<std::size_t>(request)];
  one.batch.requests.clear();
  one.batch.block_table.clear();
  const auto row = batch.block_table.begin() + request * batch.columns;
  for (std::int64_t i = 0; i < q; ++i) {
    one.batch.requests.push_back({1, one.spec.causal && n > 0 ? n - q + 1 + i : n});
    one.batch.block_table.insert(one.batch.block_table.end(), row, row + batch.columns);
  }
  one.batch.live = Requests(q);
  one.spec.requests = one.batch.requests;
  one.spec.pad_requests = 0;
  const std::int64_t row_bytes = one.spec.heads * one.spec.widths().key_bytes(one.spec.dtype.q);
  const auto first = subject.tensors()->q.begin() + first_row(batch, request) * row_bytes;
  one.tensors.q.assign(first, first + q * row_bytes);
  return one;
}

// The longest request with keys, so that several rows are looked at whenever there are any.
std::int64_t most_rows(const Batch& batch) {
  std::int64_t best = -1;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const RequestSpec& spec = batch.requests[r];
    const bool more =
        best < 0 || spec.qo_len > batch.requests[static_cast<std::size_t>(best)].qo_len;
    if (spec.kv_len > 0 && spec.qo_len > 0 && more) best = static_cast<std::int64_t>(r);
  }
  return best;
}

// Whether the exact values of two rows are further apart than any two results may hide.
bool distinct(const cpu::ReferenceResult& reference, std::int64_t a, std::int64_t b,
              std::int64_t heads) {
  const auto width = static_cast<std::size_t>(heads) * reference.dims();
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t x = static_cast<std::size_t>(a) * width + i;
    const std::size_t y = static_cast<std::size_t>(b) * width + i;
    const double apart = reference.out[x] - reference.out[y];
    if (std::abs(apart) > reference.out_bound[x] + reference.out_bound[y]) return true;
  }
  return false;
}

Outcome decode_qlen_sweep(Subject& subject) {
  Outcome outcome = compare_with_reference(subject);
  if (outcome.verdict != Verdict::pass) return outcome;
  const std::int64_t request = most_rows(*subject.batch());
  if (request < 0) return skipped("no request has a row and a key");
  const OneRowBatch one = row_by_row(subject, request);
  const auto step = run_step(subject, one.spec, one.batch, one.tensors);
  if (!step) return skipped("row by row the case is refused: " + step.error().message);
  const std::int64_t heads = subject.spec().heads;
  const std::int64_t q = one.batch.rows().count();
  const std::int64_t first = first_row(*subject.batch(), request);
  for (std::int64_t i = 0; i < q; ++i) {
    const std::string where =
        say("row ", i, " of ", request_name(request), " and a decode of ",
            one.batch.requests[static_cast<std::size_t>(i)].kv_len, " keys: ");
    if (const auto why = beyond_bounds(*subject.result(), step->result, {first + i, i}, heads,
                                       *subject.reference()))
      return failed(where + *why);
    const MatchedRows next{first + i, first + i + 1, 1};
    if (i + 1 < q && distinct(*subject.reference(), first + i, first + i + 1, heads) &&
        !bitwise_difference(*subject.result(), *subject.result(), heads, std::span(&next, 1)))
      return failed(say("rows ", i, " and ", i + 1, " of ", request_name(request),
                        " hold the same bits, but must differ"));
  }
  return passed();
}

// Decodes, extends and prefills alike.
Outcome fa_qlen_sweep(Subject& subject) {
  const auto& steps = subject.fa();
  return steps ? compare(*steps) : refusal(steps.error());
}

}  // namespace

constexpr Property kP12{"P12", "qlen_sweep",
                        "Row i of q equals a one-row decode of the n-q+1+i keys that it sees.",
                        by_kind<decode_qlen_sweep, nullptr, fa_qlen_sweep>};

}  // namespace mla::prop
