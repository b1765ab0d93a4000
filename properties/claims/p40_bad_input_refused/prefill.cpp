// P40 for prefill: what the host planner cannot digest, or AITER plans and gets wrong, is refused
// with a reason, and the step itself is not.
#include <algorithm>
#include <vector>

#include "core/plan/ps_check.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

// A planner call with lists of its own.
struct Call {
  plan::PsInput input;
  std::vector<std::int32_t> rows{0}, pages{0}, keys;
  std::size_t request = 0;  // where a list is damaged; it has rows

  [[nodiscard]] Result<plan::Plan> planned(const plan::BufferSizes& sizes) {
    input.qo_indptr = rows;
    input.kv_indptr = pages;
    input.context_lens = keys;
    return plan::plan_ps_prefill(input, sizes);
  }
};

// `apply` says whether the call can have this damage.
struct BadPrefillInput {
  const char* what;
  bool form;  // what cannot be planned; the rest AITER plans and gets wrong
  bool (*apply)(Call& c);
};

constexpr BadPrefillInput kBadPrefillInputs[] = {
    {"an entry of kv_indptr too few", true, [](Call& c) { return c.pages.pop_back(), true; }},
    {"a length too few", true, [](Call& c) { return c.keys.pop_back(), true; }},
    {"a length too many", true, [](Call& c) { return c.keys.push_back(1), true; }},
    {"no entry in qo_indptr", true, [](Call& c) { return c.rows.clear(), true; }},
    {"qo_indptr that runs backwards", true,
     [](Call& c) { return c.rows[c.request + 1] = c.rows[c.request] - 1, true; }},
    {"kv_indptr that runs backwards", true,
     [](Call& c) { return c.pages[c.request + 1] = c.pages[c.request] - 1, true; }},
    {"qo_indptr from -1", true,
     [](Call& c) {
       for (std::int32_t& entry : c.rows) --entry;
       return true;
     }},
    {"kv_indptr from -1", true,
     [](Call& c) {
       for (std::int32_t& entry : c.pages) --entry;
       return true;
     }},
    {"a negative length", true, [](Call& c) { return c.keys[c.request] = -1, true; }},
    {"a key less than rows", false,
     [](Call& c) {
       if (!c.input.causal) return false;
       return c.keys[c.request] = c.rows[c.request + 1] - c.rows[c.request] - 1, true;
     }},
    {"rows without a key", false, [](Call& c) { return c.keys[c.request] = 0, true; }},
    {"a page too few", false,
     [](Call& c) {
       for (std::size_t r = c.request + 1; r < c.pages.size(); ++r) --c.pages[r];
       return true;
     }},
    {"a page without a key, in the last unit of keys", false,
     [](Call& c) {
       const std::int64_t keys = round_up(c.keys[c.request], c.input.kvlen_granularity);
       if ((c.pages[c.request + 1] - c.pages[c.request]) * c.input.block_size >= keys) return false;
       for (std::size_t r = c.request + 1; r < c.pages.size(); ++r) ++c.pages[r];
       return true;
     }},
    {"units of 3 tokens", true, [](Call& c) { return c.input.kvlen_granularity = 3, true; }},
    {"units that are no multiple of a page", true,
     [](Call& c) { return c.input.kvlen_granularity = c.input.block_size / 2, true; }},
    {"no compute unit", true,
     [](Call& c) { return c.input.compute_units = ComputeUnits(0), true; }},
    {"no head", true, [](Call& c) { return c.input.kv_heads = Heads(0), true; }},
    {"works of no head", true, [](Call& c) { return c.input.qhead_granularity = 0, true; }},
    {"tiles of no row", true, [](Call& c) { return c.input.qlen_granularity = 0, true; }},
    {"pages of no token", true, [](Call& c) { return c.input.block_size = 0, true; }},
};

// Tokens of a unit and of a page: AITER's defaults, what engines ask for, and in between.
struct Units {
  std::int64_t unit = 16;
  std::int64_t page = 16;
};

Call call_of(const Case& c, Random& random) {
  const auto units = random.pick(std::vector<Units>{{16, 16}, {32, 16}, {128, 16}, {128, 1}});
  Call call;
  call.input = {.compute_units = ComputeUnits(c.compute_units),
                .kv_heads = Heads(c.heads),
                .kvlen_granularity = units.unit,
                .block_size = units.page,
                .causal = c.causal};
  std::vector<std::size_t> with_rows;
  for (const RequestSpec& r : c.requests) {
    // As many keys as a causal row needs, and as many pages as these take.
    const std::int64_t n = std::max(r.kv_len, r.qo_len);
    if (r.qo_len > 0) with_rows.push_back(call.keys.size());
    call.rows.push_back(call.rows.back() + static_cast<std::int32_t>(r.qo_len));
    call.pages.push_back(call.pages.back() + static_cast<std::int32_t>(ceil_div(n, units.page)));
    call.keys.push_back(static_cast<std::int32_t>(n));
  }
  if (!with_rows.empty()) call.request = random.pick(with_rows);
  return call;
}

// The call with requests of no rows, pages and keys between the others, up to `most` of them.
// `numbers` gets where the requests are now.
Call with_empty_requests(const Call& call, std::int64_t most, Random& random,
                         std::vector<std::int32_t>& numbers) {
  Call out = call;
  out.rows = out.pages = {0};
  out.keys.clear();
  const auto add_empty = [&out, &most, &random] {
    for (; most > 0 && random.below(2) == 0; --most) {
      out.rows.push_back(out.rows.back());
      out.pages.push_back(out.pages.back());
      out.keys.push_back(0);
    }
  };
  for (std::size_t r = 0; r < call.keys.size(); ++r) {
    add_empty();
    if (r == call.request) out.request = out.keys.size();
    numbers.push_back(static_cast<std::int32_t>(out.keys.size()));
    out.rows.push_back(call.rows[r + 1]);
    out.pages.push_back(call.pages[r + 1]);
    out.keys.push_back(call.keys[r]);
  }
  add_empty();
  return out;
}

std::optional<std::string> broken(const Call& call, const plan::Plan& plan) {
  const auto violations = plan::ps_check({.plan = plan.view(),
                                          .qo_indptr = call.rows,
                                          .kv_indptr = call.pages,
                                          .context_lens = call.keys,
                                          .heads = call.input.kv_heads,
                                          .block_size = call.input.block_size,
                                          .causal = call.input.causal});
  if (violations.empty()) return std::nullopt;
  return "the plan breaks the rule " + std::string(name(violations[0].rule)) + ": " +
         violations[0].what;
}

// Requests without anything only shift the numbers of the others. Of nothing else there is a plan
// without works.
std::optional<std::string> check_empty_requests(const Call& plain, const plan::BufferSizes& sizes,
                                                std::int64_t most, Random& random, Call& sound) {
  std::vector<std::int32_t> numbers;
  sound = with_empty_requests(plain, most, random, numbers);
  auto without = Call(plain).planned(sizes);
  const auto with = sound.planned(sizes);
  if (!without) return "the planner refuses the step: " + without.error().message;
  if (!with) return "the planner refuses requests without rows: " + with.error().message;
  if (auto why = broken(plain, *without)) return why;
  if (auto why = broken(sound, *with)) return "with requests without rows, " + *why;
  for (std::int64_t w = 0; w < without->works(); ++w) {
    plan::WorkItem item = without->work(w);
    item.batch = numbers[static_cast<std::size_t>(item.batch)];
    without->set_work(w, item);
  }
  if (!(*with == *without)) return "requests without rows change more than the numbers of others";
  Call none = plain;
  none.rows = none.pages = {0};
  none.keys.clear();
  const auto idle = none.planned(sizes);
  if (!idle) return "the planner refuses a batch of no requests: " + idle.error().message;
  if (idle->works() != 0 || idle->reduce_indptr.at(idle->reduce_indptr.size() - 1) != 0)
    return "the plan for a batch of no requests is not empty";
  return std::nullopt;
}

std::int64_t longest(const Case& c) {
  std::int64_t rows = 0;
  for (const RequestSpec& r : c.requests) rows = std::max(rows, r.qo_len);
  return rows;
}

}  // namespace

Outcome prefill_bad_input_refused(Subject& subject) {
  const Case& c = subject.spec();
  if (longest(c) == 0) return skipped("no request has a query row");
  Random random(c, "P40");
  const Call plain = call_of(c, random);
  constexpr std::int64_t kEmptyRequests = 4;  // at most
  const auto sizes =
      plan::query_ps_sizes({.compute_units = plain.input.compute_units,
                            .batch = Requests(std::ssize(c.requests) + kEmptyRequests),
                            .kv_heads = plain.input.kv_heads,
                            .max_qo_len = longest(c)});
  if (!sizes) return failed("the size query refuses the step: " + sizes.error().message);
  Call sound;
  if (auto why = check_empty_requests(plain, *sizes, kEmptyRequests, random, sound))
    return failed(std::move(*why));
  const auto plan = sound.planned(*sizes);
  if (!plan) return failed("the planner refuses the step: " + plan.error().message);
  for (const BadPrefillInput& damage : kBadPrefillInputs) {
    Call call = sound;
    if (!damage.apply(call)) continue;
    const auto damaged = call.planned(*sizes);
    if (damaged.ok())
      return failed(
          say("the prefill planner plans with ", damage.what, " at request ", call.request));
    if (damaged.error().message.empty())
      return failed(say("the prefill planner refuses ", damage.what, " without a reason"));
    if (!damage.form) continue;
    call.input.fidelity = plan::Fidelity::as_aiter;
    if (call.planned(*sizes).ok())
      return failed(say("as AITER the prefill planner plans with ", damage.what));
  }
  plan::BufferSizes small = *sizes;
  small.work_items = plan->works() - 1;
  if (sound.planned(small).ok())
    return failed(
        say("a plan of ", plan->works(), " works is made where there is room for one less"));
  return passed();
}

}  // namespace mla::prop
