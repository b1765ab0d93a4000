#include "properties/generate/prefill_cases.hpp"

#include <algorithm>

#include "properties/generate/cost.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kMostPrefillRows = 600;
constexpr std::int64_t kMostContext = 300;  // cached keys of a request

void draw_engine(Choices& choices, const CaseDomain& domain, Case& c) {
  static const Options<std::int64_t> units{{16, 2}, {32, 6}, {48, 5}, {64, 4},
                                           {80, 2}, {7, 1},  {96, 2}, {0, 1}};
  static const Options<std::int64_t> blocks{{16, 6}, {1, 3}, {7, 1}, {32, 1}, {64, 2}};
  c.arch = choose(choices, domain.prefill_arch);
  c.dtype = choose(choices, domain.prefill_dtype);
  c.heads = choose(choices, domain.prefill_heads);
  c.compute_units = choose(choices, units);
  if (c.compute_units == 0) c.compute_units = product_compute_units(c.arch).count();
  c.block_size = choose(choices, blocks);
  c.causal = choose(choices, domain.causal);
  c.planner = choose(choices, domain.prefill_planner);
  c.step = PrefillSpec{.workspace_tokens = choose(choices, domain.workspace_tokens)};
}

// Rows at the boundaries of tiles and units, or any. A plan cuts only tiles of more than 128 keys,
// so where the budget holds them most queries are longer.
std::int64_t draw_rows(Choices& choices, const CaseDomain& domain, std::int64_t left,
                       const Case& c) {
  static const Options<std::int64_t> cut{{129, 3}, {200, 2}, {255, 1}, {256, 2},
                                         {257, 3}, {300, 2}, {385, 1}, {513, 1}};
  if (prefill_cost({129, 129}, c.heads) <= left && choices.between(0, 3) > 0)
    return choose(choices, cut);
  if (choices.between(0, 1) == 0) return choose(choices, domain.long_qo_len);
  return choices.between(1, choices.between(1, kMostPrefillRows));
}

// Context that favours the boundaries of blocks.
std::int64_t draw_context(Choices& choices, const Case& c) {
  enum Kind { none, little, near_block, any };
  static const Options<Kind> kinds{{none, 3}, {little, 2}, {near_block, 3}, {any, 2}};
  switch (choose(choices, kinds)) {
    case none:
      return 0;
    case little:
      return choices.between(1, 20);
    case near_block:
      return std::max<std::int64_t>(1,
                                    choices.between(1, 4) * c.block_size + choices.between(-1, 1));
    case any:
      break;
  }
  return choices.between(1, kMostContext);
}

// Shortens the context, then the rows, until the request costs at most `left`.
RequestSpec within(std::int64_t rows, std::int64_t context, std::int64_t left, const Case& c) {
  const auto cost = [&] { return prefill_cost({rows, rows + context}, c.heads); };
  while (context > 0 && cost() > left) context /= 2;
  while (rows > 1 && cost() > left) rows -= (rows + 7) / 8;
  return {rows, rows + context};
}

std::vector<RequestSpec> draw_prefill_step(Choices& choices, const CaseDomain& domain,
                                           const Case& c) {
  static const Options<std::int64_t> counts{{1, 4}, {2, 4}, {3, 3}, {4, 2}, {7, 1}};
  const bool context = choices.between(0, 1) == 1;
  const std::int64_t count = choose(choices, counts);
  std::int64_t left = domain.budget;
  std::vector<RequestSpec> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t rows = draw_rows(choices, domain, left, c);
    const RequestSpec r = within(rows, context ? draw_context(choices, c) : 0, left, c);
    if (i > 0 && prefill_cost(r, c.heads) > left) break;
    requests.push_back(r);
    left -= prefill_cost(r, c.heads);
  }
  return requests;
}

}  // namespace

void draw_prefill_fields(Choices& choices, const CaseDomain& domain, Case& c) {
  draw_engine(choices, domain, c);
  c.requests = draw_prefill_step(choices, domain, c);
  const std::int64_t steps = choose(choices, domain.later_steps);
  for (std::int64_t i = 0; i < steps; ++i)
    c.later_steps.push_back(draw_prefill_step(choices, domain, c));
  while (!c.later_steps.empty() && cost_of(c) > domain.total_budget) c.later_steps.pop_back();
}

}  // namespace mla::prop
