// P10: rows of a request without keys get output 0 and LSE -inf, read no page, and change nothing
// for the other rows.
#include <algorithm>
#include <limits>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/claims/support/topology.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/decode/run.hpp"

namespace mla::prop {
namespace {

// The batch with a keyless request put in front of request `at`, over the same cache.
struct Inserted {
  Case spec;
  Batch batch;
  DecodeTensors tensors;
  std::int64_t first_row = 0;  // of the inserted request
  std::int64_t rows = 0;
};

Inserted insert_keyless(Subject& subject, std::int64_t at, std::int64_t rows) {
  Inserted in{subject.spec(), *subject.batch(), *subject.tensors(), 0, rows};
  in.first_row = first_row(in.batch, at);
  in.batch.requests.insert(in.batch.requests.begin() + at, {rows, 0});
  const auto columns = static_cast<std::size_t>(in.batch.columns);
  const auto null_block =
      static_cast<std::int32_t>(in.batch.first_block + in.batch.cache_blocks - 1);
  in.batch.block_table.insert(in.batch.block_table.begin() + at * in.batch.columns, columns,
                              null_block);
  if (at <= in.batch.live.count()) in.batch.live += Requests(1);
  in.spec.requests = in.batch.requests;
  in.spec.pad_requests = 0;
  const std::int64_t row_bytes = in.spec.heads * in.spec.widths().key_bytes(in.spec.dtype.q);
  in.tensors.q.insert(in.tensors.q.begin() + in.first_row * row_bytes,
                      static_cast<std::size_t>(rows * row_bytes), std::byte{0x31});
  return in;
}

std::optional<std::string> not_zero(const DecodeResult& result, std::int64_t heads,
                                    std::int64_t row) {
  const auto first = static_cast<std::size_t>(row * heads);
  const auto count = static_cast<std::size_t>(heads);
  const std::size_t dims = result.lse.empty() ? 0 : result.out.size() / result.lse.size();
  for (std::size_t i = first * dims; i < (first + count) * dims; ++i)
    if (result.out[i] != 0)
      return say("row ", row, " has no key, but its output holds the bits ", result.out[i]);
  for (std::size_t i = first; i < first + count; ++i)
    if (result.lse[i] != -std::numeric_limits<float>::infinity())
      return say("row ", row, " has no key, but its LSE is ", result.lse[i]);
  return std::nullopt;
}

// Rows of every keyless request of a run.
std::optional<std::string> check_keyless(const Batch& batch, const DecodeResult& result,
                                         std::int64_t heads) {
  std::int64_t row = 0;
  for (const RequestSpec& r : batch.requests) {
    for (std::int64_t i = 0; r.kv_len == 0 && i < r.qo_len; ++i)
      if (auto why = not_zero(result, heads, row + i)) return why;
    row += r.qo_len;
  }
  return std::nullopt;
}

// `first_row` and `query_rows` are those of one request of the batch.
std::optional<std::string> reads_pages(const ResolvedShape& shape, const DecodeResult& result,
                                       std::int64_t first_row, std::int64_t query_rows) {
  const std::int64_t fold = shape.fold_ratio();
  const std::int64_t first = shape.launch_row(first_row) - shape.leading_rows;
  const std::int64_t rows = query_rows + shape.leading_rows;
  for (const Footprint& f : result.footprint) {
    const bool theirs = f.q_rows.begin >= first * fold && f.q_rows.begin < (first + rows) * fold;
    if (theirs && f.kv_entries.end > f.kv_entries.begin)
      return say("work ", f.work, " reads entries ", f.kv_entries.begin, "..", f.kv_entries.end,
                 " of kv_indices for a request without keys");
  }
  return std::nullopt;
}

// Rows of the original run against the same rows after the insertion.
std::optional<std::string> check_others(Subject& subject, const Step& step, const Inserted& in) {
  const Topology before = topology_of(*subject.metadata());
  const Topology after = topology_of(step.metadata);
  const bool same_route = subject.shape()->route == step.shape.route;
  const std::int64_t heads = in.spec.heads;
  for (std::int64_t row = 0; row < subject.batch()->rows().count(); ++row) {
    const MatchedRows rows{row, row < in.first_row ? row : row + in.rows, 1};
    const bool same_pieces = same_route && before.pieces[static_cast<std::size_t>(row)] ==
                                               after.pieces[static_cast<std::size_t>(rows.first_b)];
    auto why = same_pieces
                   ? bitwise_difference(*subject.result(), step.result, heads, std::span(&rows, 1))
                   : beyond_bounds(*subject.result(), step.result, {rows.first_a, rows.first_b},
                                   heads, *subject.reference());
    if (why) return *why;
  }
  return std::nullopt;
}

Outcome decode_zero_rows(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  if (!subject.reference()) return refusal(subject.reference().error());
  const std::int64_t heads = subject.spec().heads;
  if (const auto why = check_keyless(*subject.batch(), *result, heads)) return failed(*why);

  Random random(subject.spec(), "P10");
  const auto& requests = subject.batch()->requests;
  const std::int64_t at = random.below(static_cast<std::int64_t>(requests.size()) + 1);
  const Inserted in = insert_keyless(subject, at, std::max<std::int64_t>(1, requests[0].qo_len));
  const auto step = run_step(subject, in.spec, in.batch, in.tensors);
  if (!step) return skipped("with a keyless request the case is refused: " + step.error().message);
  const std::string where = say("with a keyless request in front of request ", at);
  if (const auto why = check_keyless(in.batch, step->result, heads))
    return failed(where + ": " + *why);
  if (const auto why = reads_pages(step->shape, step->result, in.first_row, in.rows))
    return failed(where + " " + *why);
  if (const auto why = check_others(subject, *step, in))
    return failed(where + " another row changes: " + *why);
  return passed();
}

}  // namespace

constexpr Property kP10{
    "P10", "zero_rows",
    "Rows without keys get output 0 and LSE -inf, read no page and change no other row.",
    by_kind<decode_zero_rows, nullptr, nullptr>};

}  // namespace mla::prop
