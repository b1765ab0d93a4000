// P05: the works cover, for every row, exactly the keys it may see, once and in order, every row is
// written once, the reduce lists name exactly the pieces, and the result is right.
//
// Three judges that share no code: plan_check reads the buffers, a count below reads what the
// backend touched, and the comparison reads the values.
#include <algorithm>
#include <span>
#include <utility>

#include "core/engine/prefill/prefill_builder.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/prefill/plan_rules.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

Outcome check_buffers(const DecodeMetadata& md) {
  if (md.plan->work_info.used() > md.plan->works() * plan::kWorkItemWords)
    return failed(say("work_info_set has words after its ", md.plan->works(), " works"));
  const auto violations = plan::plan_check(check_input_of(md));
  if (violations.empty()) return passed();
  Outcome outcome =
      failed(say("the plan breaks the rule ", name(violations[0].rule), ": ", violations[0].what));
  for (std::size_t i = 1; i < std::min<std::size_t>(violations.size(), 8); ++i)
    outcome.details.push_back(say(name(violations[i].rule), ": ", violations[i].what));
  return outcome;
}

// What the works did with one kernel row.
struct RowCount {
  std::vector<RowRange> read;  // entries of kv_indices
  std::int64_t direct = 0;     // works that wrote its output
};

std::vector<RowCount> count_rows(const DecodeResult& result, std::size_t kernel_rows) {
  std::vector<RowCount> rows(kernel_rows);
  for (const Footprint& f : result.footprint) {
    for (std::int64_t r = std::max<std::int64_t>(0, f.q_rows.begin);
         r < std::min(f.q_rows.end, static_cast<std::int64_t>(kernel_rows)); ++r) {
      RowCount& row = rows[static_cast<std::size_t>(r)];
      if (f.kv_entries.end > f.kv_entries.begin) row.read.push_back(f.kv_entries);
      if (r >= f.output_rows.begin && r < f.output_rows.end) ++row.direct;
    }
  }
  return rows;
}

// A row with keys reads the entries from the first of its request up to at least the last one it
// may see, without gap or overlap.
std::optional<std::string> check_row(RowCount row, std::int64_t first_entry,
                                     std::int64_t visible_pages) {
  std::sort(row.read.begin(), row.read.end(),
            [](RowRange a, RowRange b) { return a.begin < b.begin; });
  std::int64_t next = first_entry;
  for (const RowRange& range : row.read) {
    if (range.begin != next)
      return say("reads entries ", range.begin, "..", range.end, " of kv_indices where ", next,
                 " comes next");
    next = range.end;
  }
  if (next < first_entry + visible_pages)
    return say("reads entries up to ", next, ", but may see up to ", first_entry + visible_pages);
  const std::int64_t writers = static_cast<std::int64_t>(row.read.size()) == 1 ? 1 : 0;
  if (row.direct != writers)
    return say("is written directly ", row.direct, " times by ", row.read.size(), " pieces");
  return std::nullopt;
}

// Every work read and wrote the rows that its record names.
std::optional<std::string> check_works(const DecodeResult& result, const plan::Plan& plan) {
  if (std::ssize(result.footprint) != plan.works())
    return say("the plan has ", plan.works(), " works, of which ", result.footprint.size(), " ran");
  for (const Footprint& f : result.footprint) {
    const plan::WorkItem item = plan.work(f.work);
    const RowRange rows{item.q_begin, item.q_end};
    const bool direct = item.partial_row < 0;
    const RowRange partials{item.partial_row, item.partial_row + (item.q_end - item.q_begin)};
    const RowRange none{};
    if (f.q_rows != rows || f.output_rows != (direct ? rows : none) ||
        f.partial_rows != (direct || item.q_begin == item.q_end ? none : partials))
      return say("work ", f.work, " ran with rows ", f.q_rows.begin, "..", f.q_rows.end,
                 ", partial rows ", f.partial_rows.begin, "..", f.partial_rows.end,
                 ": its record has rows ", rows.begin, "..", rows.end, ", partial row ",
                 item.partial_row);
  }
  return std::nullopt;
}

// Kernel rows lie request by request, group of 16 heads by group, row by row (aiter.md 4).
Outcome check_footprints(Subject& subject, const ResolvedShape& shape) {
  const std::int64_t fold = shape.fold_ratio();
  const Batch& batch = *subject.batch();
  if (const auto why = check_works(*subject.result(), *subject.metadata()->plan))
    return failed(*why);
  const auto counts = count_rows(
      *subject.result(), static_cast<std::size_t>(subject.metadata()->rows().count() * fold));
  std::int64_t entry = 0;
  for (const KernelRequest& k : kernel_requests(batch, shape)) {
    for (std::int64_t g = 0; g < fold; ++g)
      for (std::int64_t i = 0; i < k.qo_len; ++i) {
        const std::int64_t kernel_row = k.row * fold + g * k.qo_len + i;
        const std::int64_t hidden = shape.causal ? k.qo_len - 1 - i : 0;
        if (k.kv_len - hidden <= 0) continue;  // no keys, or a leading row before all of them
        if (const auto why = check_row(counts[static_cast<std::size_t>(kernel_row)], entry,
                                       ceil_div(k.kv_len - hidden, shape.page_size)))
          return failed(
              say("kernel row ", kernel_row, " (row ", k.row + i, " of the launch) ", *why));
      }
    entry += ceil_div(k.kv_len, shape.page_size);
  }
  return passed();
}

Outcome decode_plan_coverage(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  if (metadata->plan) {
    if (Outcome outcome = check_buffers(*metadata); outcome.verdict != Verdict::pass)
      return outcome;
  }
  Outcome outcome = compare_with_reference(subject);
  if (outcome.verdict != Verdict::pass) return outcome;
  outcome = decode_direct_rows(subject);
  if (outcome.verdict != Verdict::pass) return outcome;
  return metadata->plan ? check_footprints(subject, *subject.shape()) : decode_splits(subject);
}

// What a launch is told besides the plan: the most rows of a request in its list.
std::optional<std::string> other_longest(const SeenPlan& plan, const prefill::PlanFields& fields) {
  std::int64_t longest = 0;
  for (std::size_t r = 0; r + 1 < plan.qo_indptr.size(); ++r)
    longest = std::max<std::int64_t>(longest, plan.qo_indptr[r + 1] - plan.qo_indptr[r]);
  if (fields.max_q_len == longest) return std::nullopt;
  return say("the longest request has ", longest, " rows, and max_q_len is ", fields.max_q_len);
}

// New tokens are planned causally: no work reads past the unit of keys that holds the last one its
// rows see.
std::optional<std::string> hidden_keys(const plan::WorkItem& item,
                                       std::span<const std::int32_t> qo_indptr) {
  const std::int64_t first = qo_indptr[static_cast<std::size_t>(item.batch)];
  const std::int64_t seen = round_up(item.q_end - first, prefill::kUnitTokens);
  if (item.kv_end - first <= seen) return std::nullopt;
  return say("a work reads ", item.kv_end - first, " keys of ", request_name(item.batch),
             ", its rows see ", item.q_end - first);
}

// The same for a request of several tiles, which is planned only.
std::optional<std::string> hidden_keys_of_tiles(const PrefillStep& step, Random& random,
                                                const prefill::Hooks& hooks) {
  const auto rows = static_cast<std::int32_t>(random.between(257, 1500));
  prefill::EngineConfig config = step.config;
  config.limits = {Requests(1), Rows(rows), Tokens(rows)};
  const auto sizes = plan_sizes(config);
  if (!sizes) return "there are no sizes for a long prompt: " + sizes.error().message;
  const std::vector<std::int32_t> starts{0, rows};
  const auto plan = plan_prefill(prefill::new_token_lists(starts), config, *sizes, hooks);
  if (!plan) return "a long prompt is not planned: " + plan.error().message;
  const auto words = [](const char*, const plan::PlanBuffer& list) {
    return std::vector(list.data().begin(), list.data().end());
  };
  const SeenPlan seen{
      lists_of(*plan, words), starts, starts, {}, plan->reduce_indptr.data().back()};
  if (auto why = broken_rule({seen, config.kernel_heads.count(), true}))
    return "a long prompt: " + *why;
  for (std::int64_t w = 0; w < plan->works(); ++w)
    if (auto why = hidden_keys(plan->work(w), starts)) return why;
  return std::nullopt;
}

std::optional<std::string> check_new_tokens(const PrefillStep& step, Random& random,
                                            const prefill::Hooks& hooks) {
  if (auto why = broken_rule({step.plan, step.config.kernel_heads.count(), true})) return why;
  if (auto why = other_longest(step.plan, *step.metadata.fp8)) return why;
  for (std::int64_t w = 0; w < works_of(step.plan); ++w)
    if (auto why = hidden_keys(step.plan.work(w), step.plan.qo_indptr)) return why;
  return hidden_keys_of_tiles(step, random, hooks);
}

// The plan of the new tokens, and that of each chunk of context.
Outcome prefill_plan_coverage(Subject& subject) {
  const auto& run = subject.prefill();
  if (!run) return refusal(run.error());
  const PrefillStep& step = *run->steps.front();
  if (!run->faults.empty()) return failed(run->faults.front());
  const std::int64_t kernel_heads = step.config.kernel_heads.count();
  Random random(step.spec, "P05");
  if (step.metadata.fp8)
    if (const auto why = check_new_tokens(step, random, subject.hooks()))
      return failed("the plan of the new tokens: " + *why);
  for (std::size_t i = 0; i < step.context_plans.size(); ++i)
    if (const auto why = broken_rule({step.context_plans[i], kernel_heads, false}))
      return failed(say("the plan of context chunk ", i, ": ", *why));
  for (std::size_t i = 0; i < step.context_plans.size(); ++i)
    if (auto why = other_longest(step.context_plans[i], step.metadata.context_plans[i].fields))
      return failed(say("context chunk ", i, ": ", *why));
  return compare_with_reference(subject);
}

}  // namespace

constexpr Property kP05{
    .id = "P05",
    .name = "plan_coverage",
    .sentence =
        "The works cover each row's visible keys exactly once, each row is written "
        "once, and the result equals the reference.",
    .check = by_kind<decode_plan_coverage, prefill_plan_coverage, nullptr>,
    .held = Held::own};

}  // namespace mla::prop
