#include "properties/step/decode/compare.hpp"

#include <algorithm>
#include <bit>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/decode/blame.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

constexpr std::size_t kWorks = 8;  // works named for the worst element

bool has_rows(const DecodeResult& r, std::int64_t first, std::int64_t count, std::int64_t heads) {
  return first >= 0 && (first + count) * heads <= static_cast<std::int64_t>(r.lse.size());
}

// Elements of a value; 0 without one.
std::size_t dims_of(const DecodeResult& r) {
  return r.lse.empty() ? 0 : r.out.size() / r.lse.size();
}

// The first difference of pair `pa` of one result and pair `pb` of the other.
std::optional<std::string> pair_difference(const DecodeResult& a, std::size_t pa,
                                           const DecodeResult& b, std::size_t pb,
                                           const std::string& where) {
  const std::size_t dims = dims_of(a);
  for (std::size_t d = 0; d < dims; ++d) {
    const std::uint16_t x = a.out[pa * dims + d];
    const std::uint16_t y = b.out[pb * dims + d];
    if (x != y)
      return say("out", where, " dim ", d, " is ", number_text(bf16_to_float(x)), " and ",
                 number_text(bf16_to_float(y)));
  }
  if (std::bit_cast<std::uint32_t>(a.lse[pa]) != std::bit_cast<std::uint32_t>(b.lse[pb]))
    return "LSE" + where + " is " + number_text(a.lse[pa]) + " and " + number_text(b.lse[pb]);
  return std::nullopt;
}

bool pair_equal(const DecodeResult& a, std::size_t pa, const DecodeResult& b, std::size_t pb) {
  const std::size_t n = dims_of(a);
  return std::equal(&a.out[pa * n], &a.out[pa * n] + n, &b.out[pb * n]) &&
         std::bit_cast<std::uint32_t>(a.lse[pa]) == std::bit_cast<std::uint32_t>(b.lse[pb]);
}

}  // namespace

std::optional<std::string> bitwise_difference(const DecodeResult& a, const DecodeResult& b,
                                              std::int64_t heads,
                                              std::span<const MatchedRows> rows) {
  if (dims_of(a) != dims_of(b))
    return say("a value of one result has ", dims_of(a), " elements, of the other ", dims_of(b));
  for (const MatchedRows& m : rows) {
    if (!has_rows(a, m.first_a, m.count, heads) || !has_rows(b, m.first_b, m.count, heads))
      return say("rows ", m.first_a, " and ", m.first_b, ", ", m.count,
                 " of each, are not in both results");
    for (std::int64_t i = 0; i < m.count * heads; ++i) {
      const auto pa = static_cast<std::size_t>(m.first_a * heads + i);
      const auto pb = static_cast<std::size_t>(m.first_b * heads + i);
      if (pair_equal(a, pa, b, pb)) continue;
      return pair_difference(a, pa, b, pb,
                             say(" of row ", m.first_a + i / heads, " (row ", m.first_b + i / heads,
                                 " of the other) head ", i % heads));
    }
  }
  return std::nullopt;
}

std::optional<std::string> bitwise_difference(const DecodeResult& a, const DecodeResult& b,
                                              std::int64_t heads) {
  if (a.lse.size() != b.lse.size())
    return say("one result has ", a.lse.size(), " (row, head) pairs, the other ", b.lse.size());
  const MatchedRows all{0, 0, static_cast<std::int64_t>(a.lse.size()) / heads};
  return bitwise_difference(a, b, heads, {&all, 1});
}

bool bitwise_equal(const DecodeResult& a, const DecodeResult& b, std::int64_t heads) {
  return !bitwise_difference(a, b, heads).has_value();
}

Outcome compare(const Comparison& c) {
  return compare_elements({.out = c.result.out,
                           .lse = c.result.lse,
                           .faults = c.result.faults,
                           .reference = c.reference,
                           .requests = c.requests,
                           .heads = c.heads,
                           .dims = c.metadata.shape.widths.value().count(),
                           .blame = [&c](std::int64_t row, std::int64_t head) {
                             return guilty_works(c.metadata, row, head, kWorks);
                           }});
}

}  // namespace mla::prop
