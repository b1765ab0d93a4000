#include "properties/generate/cost.hpp"

#include <algorithm>
#include <string>

#include "core/say.hpp"

namespace mla::prop {

std::int64_t request_cost(const RequestSpec& request, std::int64_t heads) {
  return heads * request.qo_len * (request.kv_len + 16) + 4 * request.kv_len;
}

std::int64_t prefill_cost(const RequestSpec& request, std::int64_t heads) {
  const std::int64_t seen = request.kv_len - request.qo_len / 2;
  return heads * (request.qo_len * (seen + 16) * 3 / 10 + 4 * request.kv_len);
}

std::int64_t cost_of(const Case& c) {
  std::int64_t cost = 0;
  std::int64_t longest = 0;
  const auto add = [&](const std::vector<RequestSpec>& step) {
    for (const RequestSpec& r : step) {
      cost += c.kind() == StepKind::prefill ? prefill_cost(r, c.heads) : request_cost(r, c.heads);
      longest = std::max(longest, r.qo_len);
    }
  };
  add(c.requests);
  for (const auto& step : c.later_steps) add(step);
  // A padding request has at most the rows of the others, and as many keys.
  return cost + c.pad_requests * request_cost({longest, longest}, c.heads);
}

MaybeError why_not_executed(const Case& c, const ExecutionLimits& limits) {
  Case padded = c;  // heads as a decode kernel has them
  if (c.kind() == StepKind::decode) padded.heads = round_up(c.heads, 16);
  const std::int64_t cost = cost_of(padded);
  std::int64_t keys = 0;
  std::int64_t pairs = 0;
  for (const RequestSpec& r : c.requests) {
    keys += r.kv_len;
    pairs += r.qo_len * padded.heads;
  }
  // A key or value row of the cache; Q, and the outputs of both stages.
  const std::int64_t per_key = c.kind() == StepKind::decode ? c.widths().key_bytes(c.dtype.kv)
                               : c.kind() == StepKind::fa   ? 4 * c.fa().kv_heads * c.fa().head_dim
                                                            : 2 * kBuiltIn.key().count() * c.heads;
  const std::int64_t bytes = keys * per_key + pairs * 4096;
  if (cost <= limits.cost && bytes <= limits.bytes) return std::nullopt;
  return Error{ErrorCode::unsupported,
               say("attention is not executed: ", cost / 1'000'000,
                   " million (row, head, key) products and ", bytes >> 20,
                   " MiB of tensors; the limits are ", limits.cost / 1'000'000, " million and ",
                   limits.bytes >> 20, " MiB (replay --any-size has none)")};
}

// Most cases are small: the budget stays near 4 thousand for the lower half of the sizes and grows
// to 64 thousand at the largest.
std::int64_t budget_of(int size) {
  const std::int64_t step = std::clamp(size, 0, 100) / 10;
  return std::int64_t{1} << (10 + std::min<std::int64_t>(2, step) +
                             std::max<std::int64_t>(0, step - 6));
}

}  // namespace mla::prop
