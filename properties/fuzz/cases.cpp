// Targets about cases: the line, and the batch that it stands for.
#include <algorithm>
#include <vector>

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"
#include "properties/fuzz/target.hpp"
#include "properties/generate/cases.hpp"

namespace mla::prop::fuzz {
namespace {

// Keys of all requests; a batch beyond this is parsed, but not laid out.
constexpr std::int64_t kMaxKeys = 1 << 16;

std::int64_t keys_of(const Case& c) {
  std::int64_t keys = 0;
  std::int64_t longest = 0;
  for (const RequestSpec& r : c.requests) {
    keys += r.kv_len;
    longest = std::max({longest, r.kv_len, r.qo_len});
  }
  const auto count = static_cast<std::int64_t>(c.requests.size()) + c.pad_requests;
  return std::max(keys, count * ceil_div(longest, c.block_size));
}

std::optional<std::string> unstable(const Case& c) {
  const std::string line = format_case(c);
  const auto again = parse_case(line);
  if (!again) return "its own line is refused: " + again.error().message;
  if (!(*again == c)) return "its line reads as another case: " + format_case(*again);
  return std::nullopt;
}

// Every block lies in the cache, and none belongs to two requests unless they share a prefix.
std::optional<std::string> misplaced(const Case& c, const Batch& batch) {
  std::vector<std::int32_t> seen;
  const std::int64_t shared = c.layout.kind == Layout::prefix
                                  ? static_cast<std::int64_t>(std::min<std::uint64_t>(
                                        c.layout.parameter, std::uint64_t{1} << 31U))
                                  : 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r)
    for (std::int64_t j = 0; j < ceil_div(batch.requests[r].kv_len, batch.block_size); ++j) {
      const std::int32_t id = batch.table().at(static_cast<std::int64_t>(r), j);
      if (id < batch.first_block || id >= batch.first_block + batch.cache_blocks)
        return say("block ", id, " of request ", r, " lies outside of the cache");
      if (j >= shared) seen.push_back(id);
    }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end()) return say("block ", *twice, " belongs to two places");
  return std::nullopt;
}

std::optional<Finding> judge(const Case& c) {
  if (const auto why = unstable(c)) return Finding{format_case(c), *why};
  if (keys_of(c) > kMaxKeys) return std::nullopt;
  const auto batch = make_batch(c);
  if (!batch) return std::nullopt;
  if (const auto why = misplaced(c, *batch)) return Finding{format_case(c), *why};
  const auto shape = resolve_shape(c, *batch);
  if (!shape && shape.error().message.empty())
    return Finding{format_case(c), "the shape is refused without a reason"};
  return std::nullopt;
}

}  // namespace

std::optional<Finding> fuzz_line(Bytes bytes) {
  const std::string line(bytes.begin(), bytes.end());
  const auto c = parse_case(line);
  if (c) return judge(*c);
  if (c.error().message.empty()) return Finding{line, "the line is refused without a reason"};
  return std::nullopt;
}

std::optional<Finding> fuzz_batch(Bytes bytes) {
  ByteChoices choices(bytes);
  static const CaseDomain domain = random_domain(60);
  return judge(draw_case(choices, domain));
}

}  // namespace mla::prop::fuzz
