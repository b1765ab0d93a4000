// P28 for prefill: what a prefill kernel takes is taken and can be built; a step with more rows
// than keys, or with a context of which the workspace holds no block, is refused with a reason.
#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "core/engine/prefill/prefill_shape.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"
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
    const MaybeError bad = why_not_built(c, subject.hooks(), subject.backend().planner());
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
  switch (random.below(16)) {  // what no engine's prefill has
    case 0:
      other.pad_requests = 1;
      break;
    case 1:
      other.block_size = other.page_size = 16;
      break;
    case 2:
      other.planner = random.below(2) == 0 ? PlannerChoice::v11 : PlannerChoice::v10;
      break;
    case 3:
      other.dtype.q = Dtype::fp8;
      break;
    default:
      break;
  }
  if (random.below(4) == 0) other.requests.back().kv_len = other.requests.back().qo_len - 1;
  other.prefill().workspace_tokens =
      std::max(other.block_size + random.between(-1, 1), std::int64_t{1});
  return other;
}

// A platform and a model of which one thing is wrong lack one thing, and name it.
std::optional<std::string> check_capability(const Case& c) {
  using prefill::Model;
  using prefill::Platform;
  const Platform platform{"gfx950", true, true};
  const Model model{.activations = Dtype::bf16, .cache = Dtype::fp8, .heads = Heads(c.heads)};
  if (const auto sound = prefill::capability_of(platform, model); !sound.ok())
    return "a model that the fp8 kernel takes: " + sound.missing.front();
  const struct {
    const char* what;
    void (*change)(Platform& p, Model& m);
  } wrongs[] = {
      {"gfx942", [](Platform& p, Model&) { p.arch = "gfx942"; }},
      {"no prefill kernel", [](Platform& p, Model&) { p.prefill_kernel = false; }},
      {"no reduce kernel", [](Platform& p, Model&) { p.reduce_kernel = false; }},
      {"a bf16 cache", [](Platform&, Model& m) { m.cache = Dtype::bf16; }},
      {"fp8 activations", [](Platform&, Model& m) { m.activations = Dtype::fp8; }},
      {"no head", [](Platform&, Model& m) { m.heads = Heads(0); }},
      {"129 heads", [](Platform&, Model& m) { m.heads = Heads(129); }},
      {"keys of 256 elements", [](Platform&, Model& m) { m.qk_dim = 256; }},
      {"values of 192 elements", [](Platform&, Model& m) { m.v_dim = 192; }},
      {"a context that 2 ranks share", [](Platform&, Model& m) { m.context_ranks = 2; }},
  };
  for (const auto& wrong : wrongs) {
    Platform other = platform;
    Model with = model;
    wrong.change(other, with);
    if (const auto lacks = prefill::capability_of(other, with).missing; lacks.size() != 1)
      return say(wrong.what, " gives ", lacks.size(), " reasons against the fp8 kernel");
  }
  return std::nullopt;
}

// What counts is how many chunks a context takes, not how many tokens it has.
std::optional<std::string> check_chunk_limit(const Functions& functions, Random& random) {
  const auto chunks_of = [&](std::int64_t context, std::int64_t workspace, std::int64_t block) {
    return functions.pack_context({.context_lens = std::span(&context, 1),
                                   .qo_lens = std::array{std::int64_t{1}},
                                   .workspace_tokens = workspace,
                                   .block_size = block});
  };
  const auto two = chunks_of(70'000, 65536, 1);
  if (!two || std::ssize(two->chunks) != 2) return "70000 cached tokens do not take 2 chunks";
  if (random.below(32) != 0) return std::nullopt;  // many small chunks take a while
  // Of a workspace of 3 tokens two hold a block, and all of them the rest of a context.
  constexpr std::int64_t kMost = 2 * 65536 + 1;
  if (!chunks_of(kMost, 3, 2)) return "a context in 65536 chunks is refused";
  if (chunks_of(kMost + 1, 3, 2).ok()) return "a context in 65537 chunks is taken";
  return std::nullopt;
}

}  // namespace

Outcome prefill_kernel_available(Subject& subject) {
  Random random(subject.spec(), "P28");
  if (auto why = check_capability(subject.spec())) return failed(std::move(*why));
  if (auto why = check_chunk_limit(functions_of(subject), random)) return failed(std::move(*why));
  for (int round = 0; round < 8; ++round) {
    const Case other = small_step(subject.spec(), random);
    if (const auto why = check(other, subject))
      return failed("as " + format_case(other) + ": " + *why);
  }
  return passed();
}

}  // namespace mla::prop
