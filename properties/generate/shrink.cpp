#include "properties/generate/shrink.hpp"

#include <algorithm>

#include "properties/generate/cases.hpp"

namespace mla::prop {
namespace {

using Cases = std::vector<Case>;

// Values between `value` and `target`, the target first and the nearest neighbour last; each step
// halves the distance, so that a bound is found like by bisection.
std::vector<std::int64_t> towards(std::int64_t value, std::int64_t target) {
  std::vector<std::int64_t> values;
  for (std::int64_t step = value - target; step != 0; step /= 2) values.push_back(value - step);
  return values;
}

// Adds the case that `change` makes of `c`, if it makes another.
template <class F>
void add(Cases& out, const Case& c, F change) {
  Case candidate = c;
  change(candidate);
  if (candidate != c) out.push_back(std::move(candidate));
}

void set_dtype(Case& c, DtypePair dtype) {
  c.dtype = dtype;
  if (c.kind() != StepKind::decode) return;
  if (dtype.q != Dtype::fp8) c.decode().q_scale = 1;
  if (dtype.kv != Dtype::fp8) c.decode().kv_scale = 1;
}

// The requests of step `index`; 0 is the first.
std::vector<RequestSpec>& step_of(Case& c, std::size_t index) {
  return index == 0 ? c.requests : c.later_steps[index - 1];
}
const std::vector<RequestSpec>& step_of(const Case& c, std::size_t index) {
  return index == 0 ? c.requests : c.later_steps[index - 1];
}

void fewer_steps(Cases& out, const Case& c) {
  if (c.later_steps.empty()) return;
  add(out, c, [](Case& x) { x.later_steps.clear(); });
  add(out, c, [](Case& x) {
    x.requests = x.later_steps.front();
    x.later_steps.erase(x.later_steps.begin());
  });
  for (std::size_t i = 0; i < c.later_steps.size(); ++i)
    add(out, c, [i](Case& x) {
      x.later_steps.erase(x.later_steps.begin() + static_cast<std::ptrdiff_t>(i));
    });
}

// Runs of requests taken out: half of them, a quarter, ... one.
void fewer_requests(Cases& out, const Case& c, std::size_t step) {
  const std::size_t count = step_of(c, step).size();
  for (std::size_t run = count / 2; run > 0; run /= 2)
    for (std::size_t first = 0; first < count; first += run)
      add(out, c, [&](Case& x) {
        std::vector<RequestSpec>& requests = step_of(x, step);
        const auto begin = requests.begin() + static_cast<std::ptrdiff_t>(first);
        requests.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(run, count - first)));
      });
}

RequestSpec least(const RequestSpec& r) {
  return {std::min<std::int64_t>(r.qo_len, 1), std::min<std::int64_t>(r.kv_len, 1)};
}

// All requests at once, so that uniform batches stay uniform.
void shorter_together(Cases& out, const Case& c, std::size_t step) {
  const auto each = [&](auto change) {
    add(out, c, [&](Case& x) {
      std::vector<RequestSpec>& requests = step_of(x, step);
      std::for_each(requests.begin(), requests.end(), change);
    });
  };
  each([](RequestSpec& r) { r = least(r); });
  each([](RequestSpec& r) { r.qo_len = std::min<std::int64_t>(r.qo_len, 1); });
  each([](RequestSpec& r) { r.kv_len = std::min(r.kv_len, r.qo_len); });
  each([](RequestSpec& r) { r.kv_len = std::min(r.kv_len, std::max(r.qo_len, r.kv_len / 2)); });
  each([](RequestSpec& r) { r.qo_len -= r.qo_len > 1 ? 1 : 0; });
}

void shorter_request(Cases& out, const Case& c, std::size_t step, std::size_t index) {
  const RequestSpec r = step_of(c, step)[index];
  const auto set = [&](RequestSpec shorter) {
    add(out, c, [&](Case& x) { step_of(x, step)[index] = shorter; });
  };
  set(least(r));
  if (r.qo_len > 1)
    for (const std::int64_t q : towards(r.qo_len, 1)) set({q, r.kv_len});
  const std::int64_t shortest = std::max<std::int64_t>(r.qo_len, 1);
  if (r.kv_len > shortest)
    for (const std::int64_t n : towards(r.kv_len, shortest)) set({r.qo_len, n});
}

// Everything but the requests at its simplest.
Case plain(const Case& c) {
  Case x;
  x.step = default_step(c.kind());
  x.requests = c.requests;
  x.later_steps = c.later_steps;
  x.layout = {Layout::contiguous, 0};
  return x;
}

void plainer_shape(Cases& out, const Case& c) {
  add(out, c, [](Case& x) { set_arch(x, Arch::gfx942); });
  add(out, c, [](Case& x) { set_dtype(x, {}); });
  for (const std::int64_t h : towards(c.heads, 16))
    if (c.kind() != StepKind::fa || h % c.fa().kv_heads == 0)
      add(out, c, [h](Case& x) { x.heads = h; });
  add(out, c, [](Case& x) { x.page_size = 1; });
  for (const std::int64_t b : towards(c.block_size, c.page_size))
    if (b % c.page_size == 0) add(out, c, [b](Case& x) { x.block_size = b; });
  const std::int64_t product = product_compute_units(c.arch).count();
  add(out, c, [=](Case& x) { x.compute_units = product; });
  if (c.compute_units != product)
    for (const std::int64_t n : towards(c.compute_units, 1))
      if (n != product) add(out, c, [n](Case& x) { x.compute_units = n; });
}

// The field of a kind at its simplest, if the case is of that kind.
template <class Spec, class T>
void plainer(Cases& out, const Case& c, T Spec::* field) {
  if (std::holds_alternative<Spec>(c.step))
    add(out, c, [field](Case& x) { std::get<Spec>(x.step).*field = Spec{}.*field; });
}

void plainer_options(Cases& out, const Case& c) {
  const Case simplest = plain(c);
  plainer(out, c, &DecodeSpec::granularity);
  plainer(out, c, &DecodeSpec::max_split);
  add(out, c, [&](Case& x) { x.causal = simplest.causal; });
  add(out, c, [&](Case& x) { x.planner = simplest.planner; });
  if (c.widths() != kBuiltIn)
    add(out, c, [](Case& x) {
      x.decode().latent = DecodeSpec{}.latent;
      x.decode().rope = DecodeSpec{}.rope;
      x.decode().value = DecodeSpec{}.value;
    });
  plainer(out, c, &DecodeSpec::spare);
  plainer(out, c, &DecodeSpec::need_lse);
  plainer(out, c, &DecodeSpec::kernel_rows);
  plainer(out, c, &DecodeSpec::kv_splits);
  add(out, c, [&](Case& x) { x.schedule_seed = simplest.schedule_seed; });
  add(out, c, [&](Case& x) { x.layout = simplest.layout; });
  add(out, c, [&](Case& x) { x.data = simplest.data; });
  add(out, c, [&](Case& x) { x.data.seed = simplest.data.seed; });
  if (c.kind() != StepKind::decode)
    add(out, c, [&](Case& x) {
      x = plain(c);
      x.step = DecodeSpec{};
    });
  plainer(out, c, &PrefillSpec::workspace_tokens);
  plainer(out, c, &FaSpec::workspace_tokens);
  plainer(out, c, &FaSpec::kv_heads);
  plainer(out, c, &FaSpec::head_dim);
  plainer(out, c, &FaSpec::window);
  plainer(out, c, &FaSpec::draft_tokens);
  if (c.kind() == StepKind::decode)
    add(out, c, [](Case& x) { x.decode().q_scale = x.decode().kv_scale = 1; });
  plainer(out, c, &DecodeSpec::q_scale);
  plainer(out, c, &DecodeSpec::kv_scale);
}

void smaller_numbers(Cases& out, const Case& c) {
  for (const std::int64_t n : towards(c.pad_requests, 0))
    add(out, c, [n](Case& x) { x.pad_requests = n; });
  for (const std::int64_t n : towards(c.origin_block, 0))
    add(out, c, [n](Case& x) { x.origin_block = n; });
  if (c.kind() == StepKind::decode && c.decode().spare.entries > 1)
    for (const std::int64_t n : towards(c.decode().spare.entries, 1))
      add(out, c, [n](Case& x) { x.decode().spare.entries = n; });
  for (const std::int64_t n : towards(static_cast<std::int64_t>(c.layout.parameter), 0))
    add(out, c, [n](Case& x) { x.layout.parameter = static_cast<std::uint64_t>(n); });
}

}  // namespace

std::vector<Case> simpler_cases(const Case& c) {
  Cases out;
  add(out, c, [&](Case& x) { x = plain(c); });
  fewer_steps(out, c);
  for (std::size_t i = 0; i <= c.later_steps.size(); ++i) {
    fewer_requests(out, c, i);
    shorter_together(out, c, i);
  }
  plainer_shape(out, c);
  plainer_options(out, c);
  for (std::size_t i = 0; i <= c.later_steps.size(); ++i)
    for (std::size_t r = 0; r < step_of(c, i).size(); ++r) shorter_request(out, c, i, r);
  smaller_numbers(out, c);
  return out;
}

}  // namespace mla::prop
