// P40 for prefill: what the host planner cannot digest, or AITER plans and gets wrong, is refused
// with a reason, and the step itself is not.
#include <algorithm>
#include <vector>

#include "core/plan/ps_prefill.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"

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
struct Damage {
  const char* what;
  bool (*apply)(Call& c);
};

constexpr Damage kDamages[] = {
    {"an entry of kv_indptr too few", [](Call& c) { return c.pages.pop_back(), true; }},
    {"a length too few", [](Call& c) { return c.keys.pop_back(), true; }},
    {"a length too many", [](Call& c) { return c.keys.push_back(1), true; }},
    {"no entry in qo_indptr", [](Call& c) { return c.rows.clear(), true; }},
    {"qo_indptr that runs backwards",
     [](Call& c) { return c.rows[c.request + 1] = c.rows[c.request] - 1, true; }},
    {"kv_indptr that runs backwards",
     [](Call& c) { return c.pages[c.request + 1] = c.pages[c.request] - 1, true; }},
    {"a negative length", [](Call& c) { return c.keys[c.request] = -1, true; }},
    {"a key less than rows",
     [](Call& c) {
       if (!c.input.causal) return false;
       return c.keys[c.request] = c.rows[c.request + 1] - c.rows[c.request] - 1, true;
     }},
    {"rows without a key", [](Call& c) { return c.keys[c.request] = 0, true; }},
    {"a page too few",
     [](Call& c) {
       for (std::size_t r = c.request + 1; r < c.pages.size(); ++r) --c.pages[r];
       return true;
     }},
    {"units of 3 tokens", [](Call& c) { return c.input.kvlen_granularity = 3, true; }},
    {"units that are no multiple of a page",
     [](Call& c) { return c.input.kvlen_granularity = c.input.block_size / 2, true; }},
    {"no compute unit", [](Call& c) { return c.input.compute_units = ComputeUnits(0), true; }},
    {"no head", [](Call& c) { return c.input.kv_heads = Heads(0), true; }},
    {"works of no head", [](Call& c) { return c.input.qhead_granularity = 0, true; }},
    {"tiles of no row", [](Call& c) { return c.input.qlen_granularity = 0, true; }},
    {"pages of no token", [](Call& c) { return c.input.block_size = 0, true; }},
};

Call call_of(const Case& c, Random& random) {
  Call call;
  call.input = {.compute_units = ComputeUnits(c.compute_units),
                .kv_heads = Heads(c.heads),
                .kvlen_granularity = 32,
                .block_size = 16,
                .causal = c.causal};
  std::vector<std::size_t> with_rows;
  for (const RequestSpec& r : c.requests) {
    // As many keys as a causal row needs, and as many pages as these take.
    const std::int64_t n = std::max(r.kv_len, r.qo_len);
    if (r.qo_len > 0) with_rows.push_back(call.keys.size());
    call.rows.push_back(call.rows.back() + static_cast<std::int32_t>(r.qo_len));
    call.pages.push_back(call.pages.back() + static_cast<std::int32_t>(ceil_div(n, 16)));
    call.keys.push_back(static_cast<std::int32_t>(n));
  }
  if (!with_rows.empty()) call.request = random.pick(with_rows);
  return call;
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
  Call sound = call_of(c, random);
  const auto sizes = plan::query_ps_sizes({.compute_units = sound.input.compute_units,
                                           .batch = Requests(std::ssize(c.requests)),
                                           .kv_heads = sound.input.kv_heads,
                                           .max_qo_len = longest(c)});
  if (!sizes) return failed("the size query refuses the step: " + sizes.error().message);
  const auto plan = sound.planned(*sizes);
  if (!plan) return failed("the planner refuses the step: " + plan.error().message);
  for (const Damage& damage : kDamages) {
    Call call = sound;
    if (!damage.apply(call)) continue;
    const auto damaged = call.planned(*sizes);
    if (damaged.ok())
      return failed(
          say("the prefill planner plans with ", damage.what, " at request ", call.request));
    if (damaged.error().message.empty())
      return failed(say("the prefill planner refuses ", damage.what, " without a reason"));
  }
  plan::BufferSizes small = *sizes;
  small.work_items = plan->works() - 1;
  if (sound.planned(small).ok())
    return failed(
        say("a plan of ", plan->works(), " works is made where there is room for one less"));
  return passed();
}

}  // namespace mla::prop
