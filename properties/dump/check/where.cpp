#include "properties/dump/check/where.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/say.hpp"

namespace mla::dump {
namespace {

using Rows = std::vector<std::pair<std::int64_t, std::int64_t>>;  // half-open

// The ranges without what two of them have in common, in order.
Rows merged(Rows rows) {
  std::ranges::sort(rows);
  Rows out;
  for (const auto& [begin, end] : rows) {
    if (begin >= end) continue;
    if (!out.empty() && begin <= out.back().second)
      out.back().second = std::max(out.back().second, end);
    else
      out.emplace_back(begin, end);
  }
  return out;
}

// What the request has beyond the rows of its works.
void add_unwritten(const plan::PlanningRequest& request, const Rows& written, Rows& out) {
  std::int64_t next = request.q_begin;
  for (const auto& [begin, end] : written) {
    if (begin > next) out.emplace_back(next, std::min(begin, request.q_end));
    next = std::max(next, end);
  }
  if (next < request.q_end) out.emplace_back(next, request.q_end);
}

std::string listed(const std::set<std::int64_t>& numbers) {
  constexpr std::size_t kFew = 4;
  if (numbers.size() > kFew) return {};
  std::string out;
  for (const std::int64_t n : numbers) out += say(out.empty() ? "" : ", ", n);
  return " (" + out + ")";
}

}  // namespace

std::string where_wrong(const plan::PlanCheckInput& input,
                        std::span<const plan::Violation> violations) {
  const auto planned = plan::planning_requests(input);
  const auto count = std::ssize(planned);
  const auto indptr = input.plan.work_indptr;
  const std::int64_t records = std::ssize(input.plan.work_info) / plan::kWorkItemWords;
  const std::int64_t works =
      indptr.empty() ? 0 : std::clamp<std::int64_t>(indptr.back(), 0, records);
  std::set<std::int64_t> bad_works;
  for (const plan::Violation& v : violations)
    if (v.work >= 0 && v.work < works) bad_works.insert(v.work);
  std::vector<Rows> written(planned.size());
  std::vector<Rows> wrong(planned.size());
  for (std::int64_t w = 0; w < works; ++w) {
    const plan::WorkItem item = input.plan.work(w);
    if (item.batch < 0 || item.batch >= count) continue;
    const auto at = static_cast<std::size_t>(item.batch);
    const std::int64_t begin = std::max<std::int64_t>(item.q_begin, planned[at].q_begin);
    const std::int64_t end = std::min<std::int64_t>(item.q_end, planned[at].q_end);
    written[at].emplace_back(begin, end);
    if (bad_works.contains(w)) wrong[at].emplace_back(begin, end);
  }
  const std::int64_t fold = std::max<std::int64_t>(input.shape.fold_ratio, 1);
  std::set<std::int64_t> requests;
  std::int64_t wrong_rows = 0;
  std::int64_t all_rows = 0;
  for (std::size_t r = 0; r < planned.size(); ++r) {
    all_rows += planned[r].q_end - planned[r].q_begin;
    if (planned[r].tokens > 0) add_unwritten(planned[r], merged(written[r]), wrong[r]);
    for (const auto& [begin, end] : merged(wrong[r])) {
      wrong_rows += end - begin;
      requests.insert(static_cast<std::int64_t>(r) / fold);
    }
  }
  if (requests.empty()) return {};
  return say(requests.size(), " of ", count / fold, " requests", listed(requests), ", ", wrong_rows,
             " of ", all_rows, " rows, ", bad_works.size(), " of ", works, " works",
             bad_works.empty() ? std::string() : listed(bad_works));
}

}  // namespace mla::dump
