#include "properties/generate/requests.hpp"

#include <algorithm>
#include <array>

#include "properties/generate/cost.hpp"

namespace mla::prop {
namespace {

// The largest KV length that a request of `qo_len` rows may have for `budget`; at least `qo_len`.
std::int64_t longest_within(std::int64_t budget, std::int64_t qo_len, const Case& c,
                            const CaseDomain& domain) {
  const std::int64_t fixed = request_cost({qo_len, 0}, c.heads);
  const std::int64_t per_key = request_cost({qo_len, 1}, c.heads) - fixed;
  return std::clamp((budget - fixed) / per_key, qo_len, domain.max_kv_len);
}

std::int64_t every_length(Choices& choices, std::int64_t qo_len, std::int64_t limit) {
  const std::int64_t least = std::max<std::int64_t>(qo_len, 1);
  if (limit < least) return 0;
  const std::int64_t index = choices.between(0, limit - least + 1);
  return index == 0 ? 0 : least + index - 1;
}

// From one below a multiple to as far above it that the rows still end on both of its sides.
std::int64_t beside(Choices& choices, std::int64_t multiple, std::int64_t qo_len) {
  return multiple + choices.between(-1, std::max<std::int64_t>(1, qo_len - 1));
}

// A length beside a multiple of something that some stage counts in.
std::int64_t near_multiple(Choices& choices, std::int64_t qo_len, std::int64_t limit,
                           const Case& c) {
  const std::array<std::int64_t, 7> steps{
      16,  64, c.block_size, c.page_size, c.decode().granularity * c.page_size, c.compute_units,
      1024};
  static constexpr std::array<int, 7> kWeights{2, 2, 3, 1, 3, 1, 1};
  const std::int64_t step = steps[choices.pick(kWeights)];
  const std::int64_t most = std::max<std::int64_t>(1, limit / step);
  // Few multiples come more often than many.
  const std::int64_t factor = choices.between(1, choices.between(1, most));
  return beside(choices, factor * step, qo_len);
}

std::int64_t boundary_length(Choices& choices, std::int64_t qo_len, std::int64_t limit,
                             const Case& c) {
  enum Kind { none, least, near_rows, small, near_step, any, longest };
  static const Options<Kind> kinds{{none, 2},       {least, 3}, {near_rows, 3}, {small, 6},
                                   {near_step, 14}, {any, 6},   {longest, 1}};
  std::int64_t n = 0;
  switch (choose(choices, kinds)) {
    case none:
      return 0;
    case least:
      n = qo_len;
      break;
    case near_rows:
      n = qo_len + choices.between(1, 3);
      break;
    case small:
      n = choices.between(1, 40);
      break;
    case near_step:
      n = near_multiple(choices, qo_len, limit, c);
      break;
    case any:
      n = choices.between(0, limit);
      break;
    case longest:
      n = limit;
      break;
  }
  return std::clamp(n, qo_len, limit);
}

// The most rows, at most `wanted`, that a request can have for `budget`; at least one if `wanted`.
std::int64_t rows_within(std::int64_t budget, std::int64_t wanted, const Case& c) {
  std::int64_t q = wanted;
  while (q > 1 && request_cost({q, q}, c.heads) > budget) --q;
  return q;
}

std::vector<RequestSpec> draw_all(Choices& choices, const CaseDomain& domain, std::int64_t count,
                                  bool uniform) {
  std::vector<RequestSpec> requests;
  std::int64_t qo_len = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    if (r == 0 || !uniform) qo_len = choose(choices, domain.qo_len);
    requests.push_back({qo_len, every_length(choices, qo_len, domain.max_kv_len)});
  }
  return requests;
}

std::vector<RequestSpec> draw_within_budget(Choices& choices, const CaseDomain& domain,
                                            const Case& c, std::int64_t count, bool uniform) {
  std::int64_t left = domain.budget;
  std::int64_t qo_len = rows_within(left, choose(choices, domain.qo_len), c);
  std::vector<RequestSpec> requests;
  for (std::int64_t r = 0; r < count; ++r) {
    if (r > 0 && !uniform) qo_len = rows_within(left, choose(choices, domain.qo_len), c);
    const std::int64_t least = std::max<std::int64_t>(1, request_cost({qo_len, qo_len}, c.heads));
    if (r == 0 && uniform)
      count = std::clamp(left / least - c.pad_requests, std::int64_t{1}, count);
    if (r > 0 && least > left) break;
    // What the requests still to come and the padding need at least is not this one's to spend.
    const std::int64_t reserved = uniform ? (count - r - 1 + c.pad_requests) * least : 0;
    const std::int64_t limit = longest_within(left - reserved, qo_len, c, domain);
    requests.push_back({qo_len, boundary_length(choices, qo_len, limit, c)});
    left -= request_cost(requests.back(), c.heads);
  }
  return requests;
}

// A length of the range; two thirds are beside a multiple of something that some stage counts in.
std::int64_t length_in(Choices& choices, const Range& range, std::int64_t qo_len, const Case& c) {
  if (choices.between(0, 2) == 0) return choices.between(range.low, range.high);
  const std::array<std::int64_t, 4> steps{16, 64, c.block_size,
                                          c.decode().granularity * c.page_size};
  static constexpr std::array<int, 4> kWeights{1, 3, 1, 1};
  const std::int64_t step = steps[choices.pick(kWeights)];
  const std::int64_t most = std::max<std::int64_t>(1, range.high / step);
  const std::int64_t least = std::min(most, range.low / step + 1);
  return std::clamp(beside(choices, choices.between(least, most) * step, qo_len), range.low,
                    range.high);
}

// As many requests as the budget holds, at least one, which is shortened where it alone exceeds it.
std::vector<RequestSpec> draw_in_ranges(Choices& choices, const CaseDomain& domain, const Case& c,
                                        std::int64_t count, bool uniform) {
  std::int64_t left = domain.budget;
  std::int64_t keys_left = domain.max_keys;
  std::int64_t qo_len = choose(choices, domain.qo_len);
  const Range usual = choose(choices, domain.kv_ranges);
  std::vector<RequestSpec> requests;
  for (std::int64_t r = 0; r < count; ++r) {
    if (r > 0 && !uniform) qo_len = choose(choices, domain.qo_len);
    const bool other = choices.between(0, 7) == 0;
    const std::int64_t keys =
        length_in(choices, other ? choose(choices, domain.kv_ranges) : usual, qo_len, c);
    RequestSpec request{qo_len, keys == 0 ? 0 : std::max(keys, qo_len)};
    if (r == 0 && domain.budget > 0)
      request.kv_len = std::min(request.kv_len, longest_within(left, qo_len, c, domain));
    const std::int64_t cost = request_cost(request, c.heads);
    const bool fits = (domain.budget == 0 || cost <= left) &&
                      (domain.max_keys == 0 || request.kv_len <= keys_left);
    if (r > 0 && !fits) break;
    requests.push_back(request);
    left -= cost;
    keys_left -= request.kv_len;
  }
  return requests;
}

}  // namespace

std::vector<RequestSpec> draw_requests(Choices& choices, const CaseDomain& domain, const Case& c) {
  const std::int64_t count = choose(choices, domain.requests);
  const bool uniform = choose(choices, domain.uniform);
  if (!domain.kv_ranges.empty()) return draw_in_ranges(choices, domain, c, count, uniform);
  return domain.budget == 0 ? draw_all(choices, domain, count, uniform)
                            : draw_within_budget(choices, domain, c, count, uniform);
}

std::vector<RequestSpec> draw_later_step(Choices& choices, const CaseDomain& domain, const Case& c,
                                         const std::vector<RequestSpec>& before) {
  enum Kind { next, fewer, longer, others };
  static const Options<Kind> kinds{{next, 3}, {fewer, 2}, {longer, 2}, {others, 2}};
  std::vector<RequestSpec> step = before;
  switch (choose(choices, kinds)) {
    case next:
      for (RequestSpec& r : step) r.kv_len += r.qo_len;
      break;
    case fewer:
      step.resize((step.size() + 1) / 2);
      break;
    case longer:
      for (RequestSpec& r : step) r.kv_len += r.qo_len + choices.between(0, 64);
      break;
    case others:
      return draw_requests(choices, domain, c);
  }
  return step;
}

}  // namespace mla::prop
