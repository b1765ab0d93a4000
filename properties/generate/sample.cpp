#include "properties/generate/sample.hpp"

#include <algorithm>
#include <set>

#include "properties/generate/cost.hpp"
#include "properties/generate/hash.hpp"

namespace mla::prop {
namespace {

constexpr std::uint64_t kSalt = 0x53414D504C45U;  // "SAMPLE": no other draw of the case's seed
constexpr std::int64_t kMostRows = 12;            // of one request
constexpr std::int64_t kMostHeads = 12;

// Those of `wanted` that lie in [0, count), then random ones, without repetition: at most `most`.
std::vector<std::int64_t> some_of(std::int64_t count, const std::vector<std::int64_t>& wanted,
                                  std::int64_t most, std::uint64_t seed) {
  std::vector<std::int64_t> chosen;
  const auto take = [&](std::int64_t i) {
    if (std::ssize(chosen) < most && i >= 0 && i < count &&
        std::find(chosen.begin(), chosen.end(), i) == chosen.end())
      chosen.push_back(i);
  };
  for (const std::int64_t i : wanted) take(i);
  for (std::int64_t i = 0; i < most; ++i)
    take(static_cast<std::int64_t>(mix(seed, static_cast<std::uint64_t>(i)) %
                                   static_cast<std::uint64_t>(count)));
  return chosen;
}

// Requests in the order in which they are looked at.
std::vector<std::int64_t> order_of(const Case& c, std::span<const RequestSpec> requests) {
  const auto count = static_cast<std::int64_t>(requests.size());
  const auto live = std::min(count, static_cast<std::int64_t>(c.requests.size()));
  std::int64_t longest = 0;
  std::int64_t shortest = -1;
  std::int64_t most_rows = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const auto at = [&](std::int64_t i) { return requests[static_cast<std::size_t>(i)]; };
    if (at(r).qo_len == 0 || at(r).kv_len == 0) continue;
    if (at(r).kv_len > at(longest).kv_len) longest = r;
    if (at(r).qo_len > at(most_rows).qo_len) most_rows = r;
    if (shortest < 0 || at(r).kv_len < at(shortest).kv_len) shortest = r;
  }
  std::vector<std::int64_t> wanted{longest, shortest, most_rows, 0, live - 1, count - 1, live};
  for (std::int64_t power = 16; power <= count; power *= 2)
    wanted.insert(wanted.end(), {power, power - 1, power + 1});
  return some_of(count, wanted, count, mix(c.data.seed, kSalt));
}

std::int64_t cost_of_pairs(const Case& c, const RequestSpec& r, std::int64_t rows,
                           std::int64_t heads) {
  if (c.kind() == StepKind::prefill) return prefill_cost({rows, r.kv_len}, heads);
  return request_cost({rows, r.kv_len}, heads);
}

struct Grid {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> heads;
};

Grid grid_of(const Case& c, const RequestSpec& r, std::uint64_t seed) {
  const std::int64_t q = r.qo_len;
  const std::int64_t h = c.heads;
  return {some_of(q, {q - 1, 0, 1, q / 2, 3, 4, q - 2}, kMostRows, mix(seed, 1)),
          some_of(h, {0, h - 1, 15, 16, h / 2, h / 2 - 1, 7, 8}, kMostHeads, mix(seed, 2))};
}

}  // namespace

std::vector<std::int64_t> sampled_pairs(const Case& c, std::span<const RequestSpec> requests) {
  std::int64_t all = 0;
  std::vector<std::int64_t> first_row;
  std::int64_t row = 0;
  for (const RequestSpec& r : requests) {
    all += cost_of_pairs(c, r, r.qo_len, c.heads);
    first_row.push_back(row);
    row += r.qo_len;
  }
  if (all <= kReferenceCost || row == 0) return {};
  std::set<std::int64_t> pairs;
  std::int64_t left = kReferenceCost;
  for (const std::int64_t request : order_of(c, requests)) {
    const auto i = static_cast<std::size_t>(request);
    if (requests[i].qo_len == 0) continue;
    Grid grid = grid_of(c, requests[i], mix(c.data.seed, kSalt + i));
    // The longest request, which comes first, takes as much as half of the budget; the others take
    // an eighth of what is left, down to a 64th of all.
    const bool first = pairs.empty();
    const std::int64_t share = first ? kReferenceCost / 2 : std::max(left / 8, kReferenceCost / 64);
    const auto cost = [&] {
      return cost_of_pairs(c, requests[i], std::ssize(grid.rows), std::ssize(grid.heads));
    };
    while (cost() > share && (grid.rows.size() > 2 || grid.heads.size() > 4))
      grid.rows.size() * 2 > grid.heads.size() && grid.rows.size() > 2 ? grid.rows.pop_back()
                                                                       : grid.heads.pop_back();
    if (!first && cost() > left) continue;
    left -= std::min(cost(), share);
    for (const std::int64_t r : grid.rows)
      for (const std::int64_t h : grid.heads) pairs.insert((first_row[i] + r) * c.heads + h);
  }
  return {pairs.begin(), pairs.end()};
}

}  // namespace mla::prop
