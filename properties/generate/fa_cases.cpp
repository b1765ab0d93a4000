#include "properties/generate/fa_cases.hpp"

#include <algorithm>

#include "properties/generate/cost.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kMostFaRows = 48;

void draw_layer(Choices& choices, const CaseDomain& domain, Case& c) {
  static const Options<std::int64_t> blocks{{16, 10}, {32, 9}, {64, 1}};  // the last is refused
  static const Options<std::int64_t> drafts{{0, 12}, {1, 2}, {3, 2}, {7, 2}};
  static const Options<std::int64_t> workspaces{{16, 2}, {64, 3}, {100, 2}, {256, 2}, {1024, 2}};
  c.arch = choose(choices, domain.arch);
  c.compute_units = product_compute_units(c.arch).count();
  c.block_size = choose(choices, blocks);
  c.heads = choose(choices, domain.fa_heads);
  FaSpec fa;
  fa.kv_heads =
      choose(choices, domain.kv_heads.where([&](std::int64_t h) { return c.heads % h == 0; }));
  fa.head_dim = choose(choices, domain.head_dim);
  c.causal = choose(choices, domain.causal);
  // A window without a mask is refused, and said so by other cases.
  fa.window = c.causal ? choose(choices, domain.window) : -1;
  fa.draft_tokens = choose(choices, drafts);
  fa.workspace_tokens = choose(choices, workspaces);
  c.step = fa;
}

// A context length that favours the boundaries of blocks and of partitions of 256 keys.
std::int64_t context_length(Choices& choices, const CaseDomain& domain, const Case& c) {
  enum Kind { any, near_block, near_partition, little };
  static const Options<Kind> kinds{{any, 4}, {near_block, 3}, {near_partition, 1}, {little, 3}};
  switch (choose(choices, kinds)) {
    case any:
      break;
    case near_block:
      return std::max<std::int64_t>(1,
                                    choices.between(1, 9) * c.block_size + choices.between(-1, 1));
    case near_partition:
      return 256 + choices.between(-1, 1);
    case little:
      return choices.between(1, 5);
  }
  return choices.between(1, domain.fa_context);
}

RequestSpec draw_request(Choices& choices, const CaseDomain& domain, const Case& c,
                         bool decodes_only) {
  enum Kind { decode, extend, prefill, short_prefill, keyless, rowless };
  Options<Kind> kinds{{decode, 10}, {short_prefill, 1}, {keyless, 1}, {rowless, 1}};
  if (!decodes_only) kinds = {{decode, 6}, {extend, 8}, {prefill, 6}, {short_prefill, 1}};
  const std::int64_t threshold = c.fa().draft_tokens + 1;
  std::int64_t rows = choices.between(1, threshold);
  switch (choose(choices, kinds)) {
    case decode:
      return {rows, rows + context_length(choices, domain, c)};
    case extend:
      rows = choices.between(threshold + 1, kMostFaRows);
      return {rows, rows + context_length(choices, domain, c)};
    case prefill:
      rows = choices.between(threshold + 1, kMostFaRows);
      return {rows, rows};
    case short_prefill:
      return {rows, rows};
    case keyless:
      return {1, 0};
    case rowless:
      break;
  }
  return {0, 0};
}

// Shortens the context, then the rows, until the request costs at most `left`.
RequestSpec within(RequestSpec r, std::int64_t left, const Case& c) {
  while (r.kv_len > r.qo_len && request_cost(r, c.heads) > left)
    r.kv_len = std::max(r.qo_len, r.kv_len / 2);
  while (r.qo_len > 1 && request_cost(r, c.heads) > left) {
    const std::int64_t fewer = r.qo_len / 2;
    r.kv_len -= r.qo_len - fewer;
    r.qo_len = fewer;
  }
  return r;
}

std::vector<RequestSpec> draw_fa_step(Choices& choices, const CaseDomain& domain, const Case& c) {
  std::int64_t budget = domain.budget;
  const bool decodes_only = choices.between(0, 2) == 0;
  const std::int64_t count = choices.between(1, 6);
  std::vector<RequestSpec> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    const RequestSpec r = within(draw_request(choices, domain, c, decodes_only), budget, c);
    if (i > 0 && request_cost(r, c.heads) > budget) break;
    requests.push_back(r);
    budget -= request_cost(r, c.heads);
  }
  return requests;
}

}  // namespace

void draw_fa_fields(Choices& choices, const CaseDomain& domain, Case& c) {
  draw_layer(choices, domain, c);
  c.requests = draw_fa_step(choices, domain, c);
  const std::int64_t steps = choose(choices, domain.later_steps);
  for (std::int64_t i = 0; i < steps; ++i)
    c.later_steps.push_back(draw_fa_step(choices, domain, c));
  c.pad_requests = choose(choices, domain.pad_requests);
  while (!c.later_steps.empty() && cost_of(c) > domain.total_budget) c.later_steps.pop_back();
  while (c.pad_requests > 0 && cost_of(c) > domain.total_budget) --c.pad_requests;
}

}  // namespace mla::prop
