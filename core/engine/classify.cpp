#include "core/engine/classify.hpp"

#include <algorithm>
#include <numeric>

namespace mla {
namespace {

// First request that is no decode; the number of requests if there is none.
std::size_t first_prefill(const SplitInput& input) {
  const auto& q = input.qo_lens;
  const std::int64_t longest = q.empty() ? 0 : *std::max_element(q.begin(), q.end());
  const bool all_short = longest <= input.threshold;
  if (q.empty() || (all_short && (!input.require_uniform || input.threshold <= 1))) return q.size();
  if (q[0] > input.threshold) return 0;
  const auto found = std::find_if(q.begin(), q.end(), [&](std::int64_t len) {
    return input.require_uniform ? len != q[0] : len > input.threshold;
  });
  const bool only_padding = input.require_uniform &&
                            std::all_of(found, q.end(), [](std::int64_t len) { return len == 0; });
  return only_padding ? q.size() : static_cast<std::size_t>(found - q.begin());
}

}  // namespace

std::int64_t reorder_threshold(const ThresholdQuery& query) {
  if (query.single_row_only || (query.context_parallel && !query.context_parallel_rows)) return 1;
  if (!query.speculation_as_decode) return query.backend_threshold;
  const std::int64_t per_token = query.parallel_drafting ? 2 : 1;
  return std::max(query.backend_threshold, 1 + per_token * query.speculative_tokens);
}

Region region_of(const StepRequest& request, std::int64_t threshold) {
  if (request.computed == 0) return Region::prefill;
  return request.scheduled <= threshold ? Region::decode : Region::extend;
}

std::vector<std::size_t> decode_first_order(std::span<const StepRequest> requests,
                                            std::int64_t threshold) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(region_of(requests[a], threshold), a) <
           std::pair(region_of(requests[b], threshold), b);
  });
  return order;
}

DecodeSplit split_decodes_and_prefills(const SplitInput& input) {
  const auto& q = input.qo_lens;
  const std::size_t decodes = first_prefill(input);
  const auto cut = q.begin() + static_cast<std::ptrdiff_t>(decodes);
  const std::int64_t live = std::accumulate(q.begin(), cut, std::int64_t{0});
  DecodeSplit split;
  split.decodes = Requests(static_cast<std::int64_t>(decodes));
  split.prefills = Requests(static_cast<std::int64_t>(q.size() - decodes));
  // Padding rows belong to the decode part only when there is no other part.
  split.decode_rows = decodes == q.size() ? std::max(input.num_rows, Rows(live)) : Rows(live);
  split.prefill_rows = Rows(std::accumulate(cut, q.end(), std::int64_t{0}));
  const std::int64_t rows = decodes == 0 ? 0 : q[0];
  // Requests without rows are padding only after all others: in front of one they would be given
  // its rows.
  const auto padding =
      std::find_if(q.begin(), cut, [rows](std::int64_t len) { return len != rows; });
  const bool only_padding = std::all_of(padding, cut, [](std::int64_t len) { return len == 0; });
  const bool fills = split.decodes.count() * rows == split.decode_rows.count();
  split.uniform = rows > 0 && only_padding && fills;
  return split;
}

bool all_decodes(std::span<const std::int64_t> qo_lens, std::int64_t threshold) {
  return std::all_of(qo_lens.begin(), qo_lens.end(),
                     [threshold](std::int64_t len) { return len <= threshold; });
}

ThreeWaySplit split_decodes_prefills_and_extends(const ThreeWaySplitInput& input) {
  const auto& q = input.qo_lens;
  const auto count = static_cast<std::int64_t>(q.size());
  const auto rows_of = [&q](std::int64_t begin, std::int64_t end) {
    return Rows(std::accumulate(q.begin() + begin, q.begin() + end, std::int64_t{0}));
  };
  ThreeWaySplit split;
  if (all_decodes(q, input.threshold)) {
    split.decodes = Requests(count);
    split.decode_rows = std::max(input.num_rows, rows_of(0, count));
    return split;
  }
  std::int64_t extend = count;
  std::int64_t prefill = count;
  for (std::int64_t r = count - 1; r >= 0; --r) {
    const auto i = static_cast<std::size_t>(r);
    if (q[i] <= input.threshold) continue;
    extend = r;
    if (input.kv_lens[i] == q[i]) prefill = r;
  }
  split.decodes = Requests(extend);
  split.extends = Requests(prefill - extend);
  split.prefills = Requests(count - prefill);
  split.decode_rows = rows_of(0, extend);
  split.extend_rows = rows_of(extend, prefill);
  split.prefill_rows = rows_of(prefill, count);
  return split;
}

}  // namespace mla
