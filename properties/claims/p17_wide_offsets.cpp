// P17: where in a large cache the pages lie changes no bit: page ids around 2^16 and 2^24, byte
// offsets around 2^31 and 2^32.
#include <algorithm>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"

namespace mla::prop {
namespace {

struct Boundary {
  std::string_view name;
  std::int64_t pages = 0;
};

// The first page that begins on the boundary or after it.
std::vector<Boundary> boundaries(const Case& c) {
  const std::int64_t page_bytes = c.page_size * c.widths().key_bytes(c.dtype.kv);
  return {{"page id 2^16", std::int64_t{1} << 16},
          {"page id 2^24", std::int64_t{1} << 24},
          {"byte offset 2^31", ceil_div(std::int64_t{1} << 31, page_bytes)},
          {"byte offset 2^32", ceil_div(std::int64_t{1} << 32, page_bytes)}};
}

Outcome decode_wide_offsets(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const Case& c = subject.spec();
  Random random(c, "P17");
  const Boundary boundary = random.pick(boundaries(c));
  // The middle one of the blocks in use holds the boundary, a single one begins there.
  const std::int64_t block_pages = c.block_size / c.page_size;
  Case moved = c;
  moved.origin_block = std::max<std::int64_t>(
      0, boundary.pages / block_pages - (subject.batch()->cache_blocks - 1) / 2);
  if (moved.origin_block == c.origin_block) moved.origin_block += 1;
  const std::string where = say("with the first block at ", moved.origin_block, " instead of ",
                                c.origin_block, " (", boundary.name, ") ");
  Subject other = subject.sibling(moved);
  if (!other.batch()) return skipped(where + other.batch().error().message);
  const auto& other_result = other.result();
  if (!other_result) return failed(where + "the step fails: " + other_result.error().message);
  if (const auto why = bitwise_difference(*result, *other_result, c.heads)) {
    Outcome outcome = failed(where + "the result differs: " + *why);
    for (const Fault& fault : other_result->faults) {
      outcome.details.push_back(fault.what);
      if (outcome.details.size() == 3) break;
    }
    return outcome;
  }
  return passed();
}

}  // namespace

constexpr Property kP17{
    "P17", "wide_offsets",
    "Page ids and byte offsets around 2^16, 2^24, 2^31 and 2^32 give the same bits.",
    by_kind<decode_wide_offsets, nullptr, nullptr>};

}  // namespace mla::prop
