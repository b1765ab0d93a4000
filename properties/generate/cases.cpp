#include "properties/generate/cases.hpp"

#include <algorithm>

#include "core/units.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/fa_cases.hpp"
#include "properties/generate/prefill_cases.hpp"
#include "properties/generate/requests.hpp"

namespace mla::prop {
namespace {

constexpr std::int64_t kSpareBlocks = 256;

// A seed within the domain's limit; without one, what the field has by default.
std::uint64_t draw_seed(Choices& choices, const CaseDomain& domain, std::uint64_t unset) {
  if (domain.max_seed == 0) return unset;
  return static_cast<std::uint64_t>(choices.between(0, domain.max_seed));
}

std::int64_t draw_block_size(Choices& choices, const CaseDomain& domain, std::int64_t page_size) {
  if (page_size == 1) return choose(choices, domain.block_size);
  return choose(choices,
                domain.block_size.where([&](std::int64_t b) { return b % page_size == 0; }));
}

// An engine captures batches of 1, 2 and 4 requests, of multiples of 8, and from 256 on of 16.
std::int64_t requests_to_graph_size(std::int64_t count) {
  if (count <= 4) return count == 3 ? 1 : 0;
  return round_up(count, count > 256 ? 16 : 8) - count;
}

void draw_later_steps(Choices& choices, const CaseDomain& domain, Case& c) {
  const std::int64_t count = choose(choices, domain.later_steps);
  for (std::int64_t i = 0; i < count; ++i)
    c.later_steps.push_back(draw_later_step(
        choices, domain, c, c.later_steps.empty() ? c.requests : c.later_steps.back()));
  while (domain.budget > 0 && !c.later_steps.empty() && cost_of(c) > domain.total_budget)
    c.later_steps.pop_back();
}

void draw_layout(Choices& choices, const CaseDomain& domain, Case& c) {
  const std::uint64_t seed = c.layout.parameter;
  c.layout = {choose(choices, domain.layout), 0};
  std::int64_t longest = 1;
  for (const RequestSpec& r : c.requests) longest = std::max(longest, r.kv_len);
  if (c.layout.kind == Layout::shuffled) c.layout.parameter = draw_seed(choices, domain, seed);
  if (c.layout.kind == Layout::prefix)
    c.layout.parameter =
        static_cast<std::uint64_t>(choices.between(0, ceil_div(longest, c.block_size)));
}

void draw_scales(Choices& choices, const CaseDomain& domain, Case& c) {
  if (c.dtype.q == Dtype::fp8) c.decode().q_scale = choose(choices, domain.scale);
  if (c.dtype.kv == Dtype::fp8) c.decode().kv_scale = choose(choices, domain.scale);
}

// Blocks that the case's cache holds at most, the null block included.
std::int64_t most_blocks(const Case& c) {
  std::int64_t most = 0;
  const auto count = [&](const std::vector<RequestSpec>& step) {
    std::int64_t blocks = 1;
    std::int64_t longest = 0;
    for (const RequestSpec& r : step) {
      blocks += ceil_div(r.kv_len, c.block_size);
      longest = std::max(longest, r.qo_len);
    }
    most = std::max(most, blocks + c.pad_requests * ceil_div(longest, c.block_size));
  };
  count(c.requests);
  for (const auto& step : c.later_steps) count(step);
  return most;
}

void draw_origin(Choices& choices, const CaseDomain& domain, Case& c) {
  const Origin origin = choose(choices, domain.origin);
  if (origin == Origin::zero) return;
  const std::int64_t blocks = most_blocks(c);
  const std::int64_t per_block = c.block_size / c.page_size;
  const std::int64_t row_bytes = c.widths().key_bytes(c.dtype.kv);
  // Beyond this the block ids leave int32 page indices, also when a claim adds a few requests.
  const std::int64_t last = (std::int64_t{1} << 31) / per_block - blocks - kSpareBlocks;
  const auto straddling = [&](std::int64_t boundary_block) {
    return std::clamp(boundary_block - choices.between(0, blocks), std::int64_t{0}, last);
  };
  switch (origin) {
    case Origin::zero:
      break;
    case Origin::near_page_2_16:
      c.origin_block = straddling((1 << 16) / per_block);
      break;
    case Origin::near_page_2_24:
      c.origin_block = straddling((1 << 24) / per_block);
      break;
    case Origin::near_byte_2_31:
      c.origin_block = straddling((std::int64_t{1} << 31) / row_bytes / c.block_size);
      break;
    case Origin::near_byte_2_32:
      c.origin_block = straddling((std::int64_t{1} << 32) / row_bytes / c.block_size);
      break;
    case Origin::near_page_2_31:
      c.origin_block = last - choices.between(0, 3);
      break;
  }
}

}  // namespace

Case draw_case(Choices& choices, const CaseDomain& domain) {
  Case c;
  const StepKind kind = choose(choices, domain.kind);
  if (kind == StepKind::fa) {
    draw_fa_fields(choices, domain, c);
    draw_layout(choices, domain, c);
    draw_origin(choices, domain, c);
    c.data = {choose(choices, domain.data), draw_seed(choices, domain, c.data.seed)};
    return c;
  }
  if (kind == StepKind::prefill) {
    draw_prefill_fields(choices, domain, c);
    draw_layout(choices, domain, c);
    draw_origin(choices, domain, c);
    c.data = {choose(choices, domain.data), draw_seed(choices, domain, c.data.seed)};
    if (choices.between(0, 1) == 1)
      c.schedule_seed = static_cast<std::uint64_t>(choices.between(1, domain.max_seed));
    return c;
  }
  c.arch = choose(choices, domain.arch);
  c.dtype = choose(choices, domain.dtype);
  c.heads = choose(choices, domain.heads);
  c.page_size = choose(choices, domain.page_size);
  c.block_size = draw_block_size(choices, domain, c.page_size);
  c.compute_units = choose(choices, domain.compute_units);
  if (c.compute_units == 0) c.compute_units = product_compute_units(c.arch).count();
  c.decode().granularity = choose(choices, domain.granularity);
  // What engines and AITER's own tests ask for where a page has several tokens.
  if (c.page_size > 1 && choices.between(0, 4) > 0)
    c.decode().granularity = std::max<std::int64_t>(c.page_size, 16);
  c.decode().max_split = choose(choices, domain.max_split);
  c.causal = choose(choices, domain.causal);
  c.planner = choose(choices, domain.planner);
  c.pad_requests = choose(choices, domain.pad_requests);
  c.requests = draw_requests(choices, domain, c);
  if (domain.pad_to_graph) c.pad_requests = requests_to_graph_size(std::ssize(c.requests));
  draw_later_steps(choices, domain, c);
  while (domain.budget > 0 && !domain.pad_to_graph && c.pad_requests > 0 &&
         cost_of(c) > domain.total_budget)
    --c.pad_requests;
  draw_layout(choices, domain, c);
  draw_scales(choices, domain, c);
  draw_origin(choices, domain, c);
  c.data = {choose(choices, domain.data), draw_seed(choices, domain, c.data.seed)};
  c.decode().spare.entries = choose(choices, domain.spare_entries);
  if (c.decode().spare.entries > 0) c.decode().spare.fill = choose(choices, domain.spare_fill);
  c.decode().need_lse = choose(choices, domain.need_lse);
  c.decode().kernel_rows = choose(choices, domain.kernel_rows);
  if (c.planner == PlannerChoice::none) c.decode().kv_splits = choose(choices, domain.kv_splits);
  // Half of the cases keep the ascending order of slots and pieces.
  if (domain.max_seed > 0 && choices.between(0, 1) == 1)
    c.schedule_seed = static_cast<std::uint64_t>(choices.between(1, domain.max_seed));
  return c;
}

void set_arch(Case& c, Arch arch) {
  const bool product = c.compute_units == product_compute_units(c.arch).count();
  c.arch = arch;
  if (product) c.compute_units = product_compute_units(arch).count();
}

Case random_case(std::uint64_t seed, int size, Regime regime) {
  RandomChoices choices(seed);
  return draw_case(choices, regime_domain(regime, size));
}

void enumerate_cases(const EnumerationBounds& bounds,
                     const std::function<bool(const Case&)>& visit) {
  const CaseDomain domain = domain_of(bounds);
  Odometer odometer;
  while (odometer.next())
    if (!visit(draw_case(odometer, domain))) return;
}

std::int64_t count_cases(const EnumerationBounds& bounds) {
  std::int64_t shapes = 0;  // (rows, keys) of one request
  for (std::int64_t q = 0; q <= bounds.max_qo_len; ++q)
    shapes += 1 + std::max<std::int64_t>(0, bounds.max_kv_len - std::max<std::int64_t>(q, 1) + 1);
  std::int64_t batches = 0;
  std::int64_t power = 1;
  for (std::int64_t n = 1; n <= bounds.max_requests; ++n) batches += power *= shapes;
  for (const std::size_t factor :
       {bounds.heads.size(), bounds.block_sizes.size(), bounds.compute_units.size(),
        bounds.archs.size(), bounds.dtypes.size(), bounds.causal.size(),
        bounds.granularities.size(), bounds.planners.size(), bounds.pad_requests.size()})
    batches *= static_cast<std::int64_t>(factor);
  return batches;
}

}  // namespace mla::prop
