#include "core/plan/checks.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/say.hpp"

namespace mla::plan {
namespace {

Error usage(std::string sentence) {
  return {ErrorCode::usage, std::move(sentence)};
}

MaybeError check_indptr(const char* name, std::span<const std::int32_t> indptr,
                        std::int64_t batch) {
  const std::int64_t size = static_cast<std::int64_t>(indptr.size());
  if (size < batch + 1)
    return usage(
        say(name, " has ", size, " entries: a batch of ", batch, " requests needs ", batch + 1));
  const auto list = indptr.first(static_cast<std::size_t>(batch) + 1);
  if (list[0] < 0) return usage(say(name, " starts at ", list[0]));
  const auto high = std::adjacent_find(list.begin(), list.end(), std::greater<>());
  if (high == list.end()) return std::nullopt;
  return usage(say(name, " falls from ", high[0], " to ", high[1], " at ",
                   request_name(high - list.begin())));
}

MaybeError check_power_of_two(const char* name, std::int64_t value) {
  if (is_power_of_two(value)) return std::nullopt;
  return Error{ErrorCode::unsupported, say(name, " is ", value, ": it must be a power of two")};
}

// What every request must keep. What depends on the batch alone is decided once.
class RequestRules {
 public:
  RequestRules(const PlanInput& input, PlannerVersion version)
      : input_(input),
        listed_(input.qo_indptr.size() >= input.kv_indptr.size()),
        same_rows_(!ragged(input) && listed_ &&
                   (!sparse(input) || version == PlannerVersion::v1_1)),
        limited_(!sparse(input) && input.key.max_qo_len > 0 &&
                 (ragged(input) || input.uniform_qo_len > input.key.max_qo_len)),
        last_pages_(input.page_size > 1 ? input.batch() : std::ssize(input.last_page_len)) {}

  // The first request that breaks one; batch() if none does. A loop for each rule takes fewer
  // instructions than one loop with all of them.
  [[nodiscard]] std::int64_t first_broken() const;
  // Of a request that breaks one.
  [[nodiscard]] Error why(std::int64_t r) const;

 private:
  static std::int64_t length(std::span<const std::int32_t> indptr, std::int64_t r) {
    const auto i = static_cast<std::size_t>(r);
    return std::int64_t{indptr[i + 1]} - indptr[i];
  }
  [[nodiscard]] std::int64_t rows(std::int64_t r) const {
    if (!ragged(input_)) return input_.uniform_qo_len;
    return listed_ ? length(input_.qo_indptr, r) : 0;
  }
  [[nodiscard]] bool differs(std::int64_t r) const {
    return length(input_.qo_indptr, r) != input_.uniform_qo_len;
  }
  [[nodiscard]] bool too_long(std::int64_t r) const { return rows(r) > input_.key.max_qo_len; }
  [[nodiscard]] bool bad_last_page(std::int64_t r) const {
    const std::int64_t last = input_.last_page_len[static_cast<std::size_t>(r)];
    return (last < 1 || last > input_.page_size) && length(input_.kv_indptr, r) > 0;
  }

  const PlanInput& input_;
  bool listed_;     // qo_indptr has an entry for every request
  bool same_rows_;  // all requests are said to have uniform_qo_len rows, and qo_indptr can tell
  bool limited_;    // rows may exceed max_qo_len
  std::int64_t last_pages_;  // entries of last_page_len that count
};

std::int64_t RequestRules::first_broken() const {
  std::int64_t first = input_.batch();
  const auto look = [&first](std::int64_t requests, const auto& broken) {
    for (std::int64_t r = 0; r < requests; ++r)
      if (broken(r)) {
        first = r;
        return;
      }
  };
  if (same_rows_) look(first, [this](std::int64_t r) { return differs(r); });
  if (limited_) look(first, [this](std::int64_t r) { return too_long(r); });
  look(std::min(first, last_pages_), [this](std::int64_t r) { return bad_last_page(r); });
  return first;
}

Error RequestRules::why(std::int64_t r) const {
  if (same_rows_ && differs(r))
    return refused(say(request_name(r), " has ", length(input_.qo_indptr, r),
                       " query rows in qo_indptr, all are said to have ", input_.uniform_qo_len),
                   "BUG-016");
  if (limited_ && too_long(r))
    return refused(say(request_name(r), " has ", rows(r), " query rows, more than max_qo_len = ",
                       input_.key.max_qo_len, ", for which kernel and buffers are chosen"));
  return refused(say(request_name(r), " has ", input_.last_page_len[static_cast<std::size_t>(r)],
                     " tokens in its last page: 1 to page_size = ", input_.page_size,
                     " are possible"));
}

// One buffer that was too small, in words.
MaybeError overrun_of(const PlanBuffer& buffer) {
  if (buffer.overruns().empty()) return std::nullopt;
  const std::int64_t last = buffer.overruns().rbegin()->first;
  return Error{ErrorCode::overrun,
               say("the planner writes element ", last, " of ", buffer.name(), ", which has ",
                   buffer.size(), " elements"),
               "BUG-015"};
}

}  // namespace

Error refused(std::string sentence, std::string bug) {
  return {ErrorCode::refused, std::move(sentence), std::move(bug)};
}

std::string request_name(std::int64_t request) {
  return say("request ", request);
}

Error shorter_than_query(std::int64_t request, std::int64_t n, std::int64_t q) {
  return refused(say(request_name(request), " has n = ", n, " keys for q = ", q,
                     " query rows in several causal tiles: its early tiles would end before they "
                     "begin"),
                 "BUG-075");
}

MaybeError check_form(const PlanInput& input, const PlanShape& shape, PlannerVersion version) {
  if (input.kv_indptr.empty())
    return usage("kv_indptr has 0 entries: a batch of no requests still has 1");
  if (MaybeError bad = check_power_of_two("kv_granularity", input.kv_granularity)) return bad;
  if (MaybeError bad = check_power_of_two("page_size", input.page_size)) return bad;
  if (shape.slots.count() < 1)
    return usage(say("no slot to plan for: ", input.key.compute_units.count(),
                     " compute units and ", input.key.kv_heads.count(), " KV heads"));
  if (MaybeError bad = check_indptr("kv_indptr", input.kv_indptr, input.batch())) return bad;
  const bool reads_qo = version == PlannerVersion::v1_1 ||
                        (version == PlannerVersion::v1_2 && (ragged(input) || sparse(input)));
  if (reads_qo)
    if (MaybeError bad = check_indptr("qo_indptr", input.qo_indptr, input.batch())) return bad;
  const std::int64_t last_pages = static_cast<std::int64_t>(input.last_page_len.size());
  if (input.page_size > 1 && last_pages < input.batch())
    return usage(
        say("last_page_len has ", last_pages, " entries for ", input.batch(), " requests"));
  return std::nullopt;
}

MaybeError check_safe(const PlanInput& input, PlannerVersion version) {
  if (!safe(input)) return std::nullopt;
  if (input.kv_indptr[0] != 0 && version != PlannerVersion::v1_1)
    return refused(say("kv_indptr starts at ", input.kv_indptr[0],
                       ": this planner counts pages from 0 and would name the wrong ones"));
  if (!ragged(input) && !input.qo_indptr.empty() && input.qo_indptr[0] != 0 &&
      version != PlannerVersion::v1_1)
    return refused(say("qo_indptr starts at ", input.qo_indptr[0],
                       ": with equal rows this planner counts them from 0"));
  const RequestRules rules(input, version);
  const std::int64_t first = rules.first_broken();
  if (first < input.batch()) return rules.why(first);
  return std::nullopt;
}

MaybeError check_ignored_options(const PlanInput& input) {
  if (!safe(input)) return std::nullopt;
  if (input.page_size != 1)
    return refused(say("page_size is ", input.page_size,
                       ": only planner v1.2 counts its offsets in tokens when pages hold several"));
  if (input.cp_round_robin)
    return refused("cp_round_robin is set: only planner v1.2 leaves out the local causal trim",
                   "BUG-066");
  return std::nullopt;
}

MaybeError check_ignored_cap(const PlanInput& input, const std::string& budget,
                             std::int64_t allowed, std::int64_t most) {
  if (!safe(input) || input.max_split_per_batch < 0 || allowed >= most) return std::nullopt;
  return refused(say("max_split_per_batch is ", input.max_split_per_batch, ", which allows ",
                     allowed, " of its ", budget, ": this planner has no cap and may take ", most));
}

Result<Plan> checked_overruns(Plan plan, Fidelity fidelity) {
  if (fidelity == Fidelity::as_aiter) return plan;
  for (const PlanBuffer* buffer : plan.all())
    if (const MaybeError bad = overrun_of(*buffer)) return *bad;
  return plan;
}

}  // namespace mla::plan
