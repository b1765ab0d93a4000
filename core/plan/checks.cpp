#include "core/plan/checks.hpp"

#include <utility>

#include "core/say.hpp"

namespace mla::plan {
namespace {

Error usage(std::string sentence) {
  return {ErrorCode::usage, std::move(sentence), ""};
}

Status check_indptr(const char* name, std::span<const std::int32_t> indptr, std::int64_t batch) {
  const std::int64_t size = static_cast<std::int64_t>(indptr.size());
  if (size < batch + 1)
    return usage(
        say(name, " has ", size, " entries: a batch of ", batch, " requests needs ", batch + 1));
  for (std::int64_t r = 0; r < batch; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (indptr[i + 1] < indptr[i])
      return usage(
          say(name, " falls from ", indptr[i], " to ", indptr[i + 1], " at ", request_name(r)));
  }
  return std::nullopt;
}

Status check_power_of_two(const char* name, std::int64_t value) {
  if (is_power_of_two(value)) return std::nullopt;
  return Error{ErrorCode::unsupported, say(name, " is ", value, ": it must be a power of two"), ""};
}

// One buffer that was too small, in words.
Status overrun_of(const PlanBuffer& buffer) {
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

Status check_form(const PlanInput& input, const PlanShape& shape, PlannerVersion version) {
  if (input.kv_indptr.empty())
    return usage("kv_indptr has 0 entries: a batch of no requests still has 1");
  if (Status bad = check_power_of_two("kv_granularity", input.kv_granularity)) return bad;
  if (Status bad = check_power_of_two("page_size", input.page_size)) return bad;
  if (shape.slots.count() < 1)
    return usage(say("no slot to plan for: ", input.key.compute_units.count(),
                     " compute units and ", input.key.kv_heads.count(), " KV heads"));
  if (Status bad = check_indptr("kv_indptr", input.kv_indptr, input.batch())) return bad;
  const bool reads_qo = version == PlannerVersion::v1_1 ||
                        (version == PlannerVersion::v1_2 && (ragged(input) || sparse(input)));
  if (reads_qo)
    if (Status bad = check_indptr("qo_indptr", input.qo_indptr, input.batch())) return bad;
  const std::int64_t last_pages = static_cast<std::int64_t>(input.last_page_len.size());
  if (input.page_size > 1 && last_pages < input.batch())
    return usage(
        say("last_page_len has ", last_pages, " entries for ", input.batch(), " requests"));
  return std::nullopt;
}

Status check_safe(const PlanInput& input, PlannerVersion version) {
  if (!safe(input)) return std::nullopt;
  if (input.kv_indptr[0] != 0 && version != PlannerVersion::v1_1)
    return refused(say("kv_indptr starts at ", input.kv_indptr[0],
                       ": this planner counts pages from 0 and would name the wrong ones"));
  const std::int64_t limit = input.key.max_qo_len;
  for (std::int64_t r = 0; r < input.batch(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    const bool listed = input.qo_indptr.size() == input.kv_indptr.size();
    const std::int64_t in_list =
        listed ? std::int64_t{input.qo_indptr[i + 1]} - input.qo_indptr[i] : 0;
    if (!ragged(input) && !sparse(input) && listed && in_list != input.uniform_qo_len)
      return refused(say(request_name(r), " has ", in_list,
                         " query rows in qo_indptr, all are said to have ", input.uniform_qo_len),
                     "BUG-016");
    const std::int64_t q = ragged(input) ? in_list : input.uniform_qo_len;
    if (!sparse(input) && limit > 0 && q > limit)
      return refused(say(request_name(r), " has ", q, " query rows, more than max_qo_len = ", limit,
                         ", for which kernel and buffers are chosen"));
    const bool has_pages = input.kv_indptr[i + 1] > input.kv_indptr[i];
    const bool counted = input.page_size > 1 || i < input.last_page_len.size();
    if (!counted || !has_pages) continue;
    const std::int64_t last = input.last_page_len[i];
    if (last < 1 || last > input.page_size)
      return refused(say(request_name(r), " has ", last,
                         " tokens in its last page: 1 to page_size = ", input.page_size,
                         " are possible"));
  }
  return std::nullopt;
}

Status check_ignored_options(const PlanInput& input) {
  if (!safe(input)) return std::nullopt;
  if (input.page_size != 1)
    return refused(say("page_size is ", input.page_size,
                       ": only planner v1.2 counts its offsets in tokens when pages hold several"));
  if (input.cp_round_robin)
    return refused("cp_round_robin is set: only planner v1.2 leaves out the local causal trim",
                   "BUG-066");
  return std::nullopt;
}

Result<Plan> checked_overruns(Plan plan, Fidelity fidelity) {
  if (fidelity == Fidelity::as_aiter) return plan;
  for (const PlanBuffer* buffer : {&plan.work_indptr, &plan.work_info, &plan.reduce_indptr,
                                   &plan.reduce_final_map, &plan.reduce_partial_map})
    if (const Status bad = overrun_of(*buffer)) return *bad;
  return plan;
}

}  // namespace mla::plan
