// P28 for prefill: what a prefill kernel takes is taken and can be built; a step with more rows
// than keys, or with a context of which the workspace holds no block, is refused with a reason.
#include <algorithm>
#include <vector>

#include "core/engine/prefill/prefill_shape.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support.hpp"
#include "properties/step/prefill/run.hpp"

namespace mla::prop {
namespace {

// What every engine's prefill has: bf16 queries, requests with rows, no padding, its own planner.
bool is_prefill_of_engines(const Case& c) {
  const bool planned = c.planner == PlannerChoice::automatic || c.planner == PlannerChoice::none ||
                       c.planner == PlannerChoice::v12;
  return planned && c.dtype.q == Dtype::bf16 && c.pad_requests == 0 && c.page_size == 1 &&
         std::ranges::all_of(c.requests, [](const RequestSpec& r) { return r.qo_len > 0; });
}

// Why a step may be refused; nothing of it: a kernel takes the step.
struct Reasons {
  bool short_of_keys = false;  // a request has more rows than keys (BUG-075)
  bool unsupported = false;    // no engine makes it, or the workspace holds no block of its context
};

Reasons reasons_of(const Case& c) {
  const auto any = [&c](const auto& holds) { return std::ranges::any_of(c.requests, holds); };
  const bool context = any([](const RequestSpec& r) { return r.kv_len - r.qo_len >= 1; });
  const bool holds_no_block = c.prefill().workspace_tokens < c.block_size;
  return {.short_of_keys = any([](const RequestSpec& r) { return r.kv_len < r.qo_len; }),
          .unsupported = !is_prefill_of_engines(c) || (context && holds_no_block)};
}

std::optional<std::string> check(const Case& c, const Subject& subject) {
  const auto batch = make_batch(c);
  if (!batch) return std::nullopt;
  const auto shape = prefill::resolve_prefill_shape(c, *batch, subject.hooks());
  const auto [short_of_keys, unsupported] = reasons_of(c);
  if (shape) {
    if (short_of_keys) return "a request has more rows than keys, and the step is taken";
    if (unsupported) return "no engine's prefill kernel takes the step, and it is taken";
    const Status bad = why_not_built(c, subject);
    if (bad) return "the shape is taken, and the step is not built: " + bad->message;
    return std::nullopt;
  }
  const Error& error = shape.error();
  if (error.message.empty()) return "the step is refused without a reason";
  const bool known = error.code == ErrorCode::refused ? short_of_keys : unsupported;
  if (!known) return "a prefill kernel takes the step, which is refused: " + error.message;
  return std::nullopt;
}

// The case with a few small requests, and a workspace at the edge of what holds a block.
Case small_step(const Case& c, Random& random) {
  Case other = c;
  other.requests.resize(std::min<std::size_t>(c.requests.size(), 3));
  for (RequestSpec& r : other.requests) {
    r.qo_len = random.between(1, 5);
    r.kv_len = r.qo_len + random.pick(std::vector<std::int64_t>{0, 0, 1, 7, 40});
  }
  if (random.below(4) == 0) other.requests.back().kv_len = other.requests.back().qo_len - 1;
  other.prefill().workspace_tokens =
      std::max(c.block_size + random.between(-1, 1), std::int64_t{1});
  return other;
}

}  // namespace

Outcome prefill_kernel_available(Subject& subject) {
  Random random(subject.spec(), "P28");
  for (int round = 0; round < 8; ++round) {
    const Case other = small_step(subject.spec(), random);
    if (const auto why = check(other, subject))
      return failed("as " + format_case(other) + ": " + *why);
  }
  return passed();
}

}  // namespace mla::prop
