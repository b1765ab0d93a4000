// P44: every bound is as wide as the roundings behind it add up to, within half of that, and an
// error is reported exactly if it leaves its bound.
//
// An error beyond a bound says nothing of a bound that is four times too wide. So the bounds of
// some rows are worked out a second time (row_arithmetic.hpp): the unit roundoffs of the formats,
// times the conditions of the sums, which are summed here key by key from the tensors.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/p44_close_bounds/bounded_rows.hpp"
#include "properties/claims/p44_close_bounds/error_plants.hpp"
#include "properties/claims/p44_close_bounds/row_arithmetic.hpp"
#include "properties/claims/support/stored_row.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/generate/sample.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

// Rows are looked at one key after the other: as many keys as cost less than one of the runs.
constexpr std::int64_t kMostKeys = 1 << 13;
constexpr int kRows = 4;
constexpr int kDraws = 16;

// gfx942 truncates in its reduce and gfx950 never does; the bound may not know who wrote the row.
double output_unit_of(Arch arch) {
  return arch == Arch::gfx942 ? 0x1p-7 : 0x1p-8;
}

// The largest errors of the backend's results, in units of their bounds.
struct Closest {
  double out = 0;
  double lse = 0;

  void look(const BoundedRows& rows, std::int64_t pair, const RowBounds& bounds) {
    const auto dims = bounds.out.size();
    const auto at = static_cast<std::size_t>(pair);
    for (std::size_t d = 0; d < dims && (at + 1) * dims <= rows.out.size(); ++d)
      out = std::max(out, std::fabs(bf16_to_float(rows.out[at * dims + d]) - bounds.out[d]) /
                              bounds.out_bound[d]);
    if (bounds.lse && at < rows.lse.size())
      lse = std::max(lse, std::fabs(rows.lse[at] - *bounds.lse) / *bounds.lse_bound);
  }
  [[nodiscard]] std::string line(bool with_lse) const {
    return "closest to the bounds of the drawn rows: out " + number_text(out) +
           (with_lse ? ", LSE " + number_text(lse) : "");
  }
};

RowKeys decode_keys(const Case& c, const Batch& batch, const DecodeTensors& t, std::int64_t pair,
                    const RequestAt& at) {
  const Fp8Variant fp8 = fp8_variant(c.arch);
  const auto& [q, n] = batch.requests[static_cast<std::size_t>(at.request)];
  const RowWidths widths = c.widths();
  RowKeys keys{
      .last = c.causal ? n - q + at.row + 1 : n, .all = n, .value_dims = widths.value().count()};
  const std::byte* query = t.q.data() + pair * widths.key_bytes(c.dtype.q);
  for (std::int64_t d = 0; d < widths.key().count(); ++d)
    keys.q.push_back(stored_element(query, d, c.dtype.q, fp8));
  keys.load = [&, fp8, at](std::int64_t j, std::span<double> key, std::span<double> value) {
    const std::int64_t slot = batch.slot(at.request, j) - t.cache.first_slot;
    const std::byte* row = t.cache.bytes.data() + slot * t.cache.row_bytes();
    for (std::size_t d = 0; d < key.size(); ++d)
      key[d] = stored_element(row, static_cast<std::int64_t>(d), c.dtype.kv, fp8);
    std::copy_n(key.begin(), value.size(), value.begin());
  };
  return keys;
}

}  // namespace

RequestAt request_at(const Batch& batch, std::int64_t row) {
  RequestAt at{.request = 0, .row = row};
  while (at.row >= batch.requests[static_cast<std::size_t>(at.request)].qo_len)
    at.row -= batch.requests[static_cast<std::size_t>(at.request++)].qo_len;
  return at;
}

Outcome close_bounds(Subject& subject, const BoundedRows& rows) {
  Random random(subject.spec(), "P44");
  const std::int64_t all = rows.heads * rows.batch.rows().count();
  if (all == 0) return skipped("the step has no rows");
  int looked = 0;
  Closest closest;
  for (int draw = 0; draw < kDraws && looked < kRows; ++draw) {
    const std::int64_t pair = rows.pairs.empty() ? random.below(all) : random.pick(rows.pairs);
    const RequestAt at = request_at(rows.batch, pair / rows.heads);
    const RowKeys keys = rows.keys_of(pair, at);
    if (keys.last <= keys.first || keys.all > kMostKeys) continue;
    ++looked;
    const RowBounds bounds = bounds_of(rows.reference, pair, keys.value_dims);
    auto why = wrong_bound(rows.arithmetic_of(at), keys, bounds);
    if (!why) why = misjudged_error(subject, bounds, random);
    closest.look(rows, pair, bounds);
    if (why)
      return failed(row_name(rows.batch.requests, pair / rows.heads) +
                    say(" head ", pair % rows.heads, ": ") + *why);
  }
  if (looked == 0)
    return skipped(say("no row was drawn that sees a key, of a request of up to ", kMostKeys));
  return {Verdict::pass, {}, {closest.line(!rows.lse.empty())}};
}

namespace {

Outcome decode_close_bounds(Subject& subject) {
  const Case& c = subject.spec();
  if (!subject.result()) return refusal(subject.result().error());
  const auto& reference = subject.reference();
  if (!reference) return refusal(reference.error());
  const Batch& batch = *subject.batch();
  const DecodeTensors& t = *subject.tensors();
  const RowArithmetic arithmetic{
      .dtype = c.dtype,
      .arch = c.arch,
      .output_unit = output_unit_of(c.arch),
      .score_scale = static_cast<double>(t.softmax_scale) * t.q_scale * t.kv_scale,
      .output_scale = t.kv_scale};
  return close_bounds(subject, {.batch = batch,
                                .heads = c.heads,
                                .pairs = sampled_pairs(c, batch.requests),
                                .reference = *reference,
                                .out = subject.result()->out,
                                .lse = subject.result()->lse,
                                .arithmetic_of = [&](const RequestAt&) { return arithmetic; },
                                .keys_of =
                                    [&](std::int64_t pair, const RequestAt& at) {
                                      return decode_keys(c, batch, t, pair, at);
                                    }});
}

}  // namespace

constexpr Property kP44{"P44", "close_bounds",
                        "A bound is what the roundings in play add up to, within half of it, and "
                        "errors beyond it alone are reported.",
                        by_kind<decode_close_bounds, prefill_close_bounds, fa_close_bounds>};

}  // namespace mla::prop
