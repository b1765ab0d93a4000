// P13 for prefill: a new key changes the rows that see it, the query of a row its own row, and
// neither a bit of any other. Values stay as they are: an LSE shows the key.
#include <algorithm>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/key_target.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

constexpr float kLoudBf16 = 64;  // finite in both fp8 variants

std::uint16_t loud(bool negative) {
  return bf16_from_float(negative ? -kLoudBf16 : kLoudBf16, Bf16Rounding::nearest_even);
}

std::size_t first_element(const prefill::PrefillTensors& t, std::int64_t row) {
  return static_cast<std::size_t>(row * t.heads * prefill::kQkDim);
}

// The key of row `key` gets the signs of the query of row `row`, so that its score beats others.
void shout_key(prefill::PrefillTensors& t, std::int64_t key, std::int64_t row) {
  for (std::int64_t i = 0; i < t.heads * prefill::kQkDim; ++i) {
    const auto d = static_cast<std::size_t>(i);
    t.k[first_element(t, key) + d] = loud(bf16_to_float(t.q[first_element(t, row) + d]) < 0);
  }
}

void shout_query(prefill::PrefillTensors& t, std::int64_t row, Random random) {
  for (std::int64_t i = 0; i < t.heads * prefill::kQkDim; ++i)
    t.q[first_element(t, row) + static_cast<std::size_t>(i)] = loud(random.below(2) == 0);
}

bool same_row(const PrefillStep& a, const PrefillStep& b, std::int64_t row) {
  const std::int64_t heads = a.spec.heads;
  const std::int64_t width = heads * prefill::kVDim;
  const auto same = [&](const auto& x, const auto& y, std::int64_t count) {
    return std::equal(x.begin() + row * count, x.begin() + (row + 1) * count,
                      y.begin() + row * count);
  };
  return same(a.result.out, b.result.out, width) && same(a.result.lse, b.result.lse, heads);
}

}  // namespace

Outcome prefill_causal_mutation(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  const KeyTarget target = key_of_last_rows(step.spec, step.batch, "P13");
  if (target.request < 0) return skipped("no request has a row and a key");
  const RequestSpec& r = step.batch.requests[static_cast<std::size_t>(target.request)];
  const std::int64_t begin = first_row(step.batch, target.request);
  const std::int64_t hidden_rows = target.position - (r.kv_len - r.qo_len);  // before the key's own
  const std::int64_t loud_row = begin + r.qo_len - 1;
  Random random(step.spec, "P13 query");
  const std::int64_t query = random.below(step.batch.rows().count());
  const auto again = run_prefill({step.spec}, subject.context(), {.change = [&](auto& t) {
                                   shout_key(t, begin + hidden_rows, loud_row);
                                   if (query != loud_row) shout_query(t, query, random);
                                 }});
  if (!again) return refusal(again.error());
  const PrefillStep& other = *again->steps.front();
  for (std::int64_t row = 0; row < step.batch.rows().count(); ++row) {
    if (row == query && row != loud_row) continue;
    const bool in_request = row >= begin && row < begin + r.qo_len;
    const bool sees = in_request && (!step.spec.causal || row - begin >= hidden_rows);
    // In other data one score may outweigh this one.
    const bool must_change = row == loud_row && step.spec.data.kind == Distribution::normal;
    if (sees ? !must_change || !same_row(step, other, row) : same_row(step, other, row)) continue;
    return failed(say("key ", target.position, " of ", request_name(target.request),
                      query != loud_row ? say(" and the query of row ", query) : "",
                      " change, and ", row_name(step.batch.requests, row),
                      sees ? ", which sees the key, does not" : ", which sees neither, too"));
  }
  return passed();
}

}  // namespace mla::prop
