// P13: a key changes exactly the rows that may see it: rows that must not see it stay equal in
// every bit, rows that see it change. The query of a row changes no row of another request.
#include "core/engine/run_decode.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/key_target.hpp"
#include "properties/claims/support/stored_row.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

constexpr float kLoud = 64;  // finite in both fp8 variants

// A key that head 0 of query row `row` cannot overlook: large, and of the sign of the query, so
// that its score beats every other.
void shout(DecodeTensors& t, const ResolvedShape& shape, std::int64_t slot, std::int64_t row) {
  const std::int64_t q_bytes = shape.heads.model.count() * shape.widths.key_bytes(shape.dtype.q);
  const std::byte* query = t.q.data() + row * q_bytes;
  std::byte* key = t.cache.bytes.data() + (slot - t.cache.first_slot) * t.cache.row_bytes();
  for (std::int64_t d = 0; d < shape.widths.key().count(); ++d) {
    const bool negative = stored_element(query, d, shape.dtype.q, shape.fp8) < 0;
    store_element(key, d, negative ? -kLoud : kLoud, shape.dtype.kv, shape.fp8);
  }
}

// A query in which every element is large.
void shout(DecodeTensors& t, const ResolvedShape& shape, std::int64_t row, Random& random) {
  const std::int64_t elements = shape.heads.model.count() * shape.widths.key().count();
  std::byte* query = t.q.data() + row * elements * element_bytes(shape.dtype.q);
  for (std::int64_t d = 0; d < elements; ++d)
    store_element(query, d, random.below(2) == 0 ? -kLoud : kLoud, shape.dtype.q, shape.fp8);
}

Outcome decode_causal_mutation(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const Case& c = subject.spec();
  const Result<Batch> batch = make_batch(c);  // as written: what the rows are entitled to
  if (!batch) return refusal(batch.error());
  const KeyTarget target = key_of_last_rows(c, *batch, "P13");
  if (target.request < 0) return skipped("no request has a row and a key");
  const RequestSpec& spec = batch->requests[static_cast<std::size_t>(target.request)];
  const std::int64_t loud_row = first_row(*batch, target.request) + spec.qo_len - 1;
  DecodeTensors mutated = *subject.tensors();
  shout(mutated, *subject.shape(), target.slot, loud_row);
  Random random(c, "P13 query");
  std::int64_t other_query = random.below(batch->rows().count());
  // All rows of the request are judged by the key.
  const std::int64_t place = other_query - (loud_row - spec.qo_len + 1);
  if (place >= 0 && place < spec.qo_len) other_query = loud_row;
  if (other_query != loud_row) shout(mutated, *subject.shape(), other_query, random);
  const auto again = run_decode(
      subject.backend(), {*subject.metadata(), mutated},
      {.schedule_seed = c.schedule_seed, .threads = 0, .record_stages = false}, subject.hooks());
  if (!again) return refusal(again.error());

  const std::string key = say(
      "key ", target.position, " of ", request_name(target.request),
      other_query != loud_row ? say(" and the query of row ", other_query) : "", " change, and ");
  std::int64_t row = 0;
  for (std::size_t r = 0; r < batch->requests.size(); ++r)
    for (std::int64_t i = 0; i < batch->requests[r].qo_len; ++i, ++row) {
      const MatchedRows same{row, row, 1};
      const auto why = bitwise_difference(*result, *again, c.heads, std::span(&same, 1));
      if (row == other_query && row != loud_row) continue;
      const bool visible = may_see(c, *batch, static_cast<std::int64_t>(r), i, target.slot);
      if (why && !visible)
        return failed(key + row_name(batch->requests, row) +
                      ", which must not see it, too: " + *why);
      if (!why && row == loud_row)
        return failed(key + row_name(batch->requests, row) + ", which sees it, does not");
      // The first row that sees it must change as well.
      const bool same_request = static_cast<std::int64_t>(r) == target.request;
      if (!why && visible && same_request && c.data.kind == Distribution::normal)
        return failed(key + row_name(batch->requests, row) + ", which sees it, does not");
    }
  return passed();
}

}  // namespace

constexpr Property kP13{"P13", "causal_mutation",
                        "Changing a key changes the rows that see it, and no bit of the others.",
                        by_kind<decode_causal_mutation, prefill_causal_mutation, nullptr>};

}  // namespace mla::prop
