#include "properties/generate/domain.hpp"

#include "properties/generate/cost.hpp"

namespace mla::prop {
namespace {

// Weights of heads: every count from 1 to 128 can come, those of real ranks come often.
Options<std::int64_t> all_heads() {
  Options<std::int64_t> options;
  for (std::int64_t h = 1; h <= kMaxHeads; ++h) options.push_back({h, 1});
  for (const std::int64_t h : {8, 12, 24, 32, 64, 128})
    options.set_weight(static_cast<std::size_t>(h - 1), 20);
  options.set_weight(15, 60);
  for (const std::int64_t h : {4, 48, 80, 96, 112})
    options.set_weight(static_cast<std::size_t>(h - 1), 6);
  return options;
}

Options<std::int64_t> all_block_sizes() {
  Options<std::int64_t> options;
  for (std::int64_t b = 1; b <= 256; ++b) options.push_back({b, 1});
  for (const std::int64_t b : {2, 3, 7, 16, 32, 64, 128, 256})
    options.set_weight(static_cast<std::size_t>(b - 1), 20);
  options.set_weight(0, 100);
  return options;
}

Options<std::int64_t> compute_unit_counts() {
  Options<std::int64_t> options{{0, 16}, {80, 4}, {64, 2}, {303, 1}, {61, 1}, {13, 2}};
  for (std::int64_t n = 1; n <= 8; ++n) options.push_back({n, 2});
  return options;
}

Options<std::int64_t> query_lengths() {
  Options<std::int64_t> options{{0, 1}, {1, 24}, {2, 8}, {3, 8}, {4, 8}};
  for (std::int64_t q = 5; q <= 8; ++q) options.push_back({q, 4});
  for (std::int64_t q = 9; q <= 17; ++q) options.push_back({q, 1});
  return options;
}

Options<std::int64_t> request_counts() {
  Options<std::int64_t> options{{1, 20}, {2, 20}, {3, 14}, {4, 10}, {5, 6}, {6, 4}, {7, 4}, {8, 4}};
  for (const std::int64_t n : {9, 15, 16, 17, 31, 32, 33, 40}) options.push_back({n, 1});
  return options;
}

template <class T>
Options<T> evenly(const std::vector<T>& values) {
  Options<T> options;
  for (const T& value : values) options.push_back({value, 1});
  return options;
}

std::vector<std::int64_t> up_to(std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = low; v <= high; ++v) values.push_back(v);
  return values;
}

}  // namespace

CaseDomain random_domain(int size) {
  using enum Distribution;
  const DtypePair bf16{Dtype::bf16, Dtype::bf16};
  const DtypePair fp8{Dtype::fp8, Dtype::fp8};
  const DtypePair mixed{Dtype::bf16, Dtype::fp8};
  const DtypePair refused{Dtype::fp8, Dtype::bf16};
  CaseDomain d;
  d.kind = {{StepKind::decode, 20}, {StepKind::prefill, 1}, {StepKind::fa, 1}};
  d.arch = {{Arch::gfx942}, {Arch::gfx950}};
  d.dtype = {{bf16, 40}, {fp8, 32}, {mixed, 16}, {refused, 1}};
  d.heads = all_heads();
  d.page_size = {{1, 20}, {16, 1}, {64, 1}};
  d.block_size = all_block_sizes();
  d.compute_units = compute_unit_counts();
  d.granularity = {{16, 70}, {1, 4}, {2, 4}, {4, 4}, {8, 4}, {32, 6}, {64, 4}, {128, 2}};
  d.max_split = {{-1, 20}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {8, 1}, {32, 2}, {64, 1}};
  d.causal = {{true, 9}, {false, 1}};
  d.layout = {{Layout::shuffled, 8},
              {Layout::contiguous, 3},
              {Layout::interleaved, 3},
              {Layout::descending, 3},
              {Layout::prefix, 3}};
  d.data = {{normal, 14}, {spiky, 2}, {large, 2}, {constant, 1}, {onehot, 2}};
  d.planner = {{PlannerChoice::automatic, 40}, {PlannerChoice::v12, 1},
               {PlannerChoice::v12_serial, 2}, {PlannerChoice::v12_parallel, 1},
               {PlannerChoice::v11, 2},        {PlannerChoice::v10, 1},
               {PlannerChoice::none, 3}};
  d.pad_requests = {{0, 24}, {1, 2}, {2, 2}, {3, 1}, {5, 1}, {8, 1}};
  d.spare_entries = {{0, 12}, {1, 2}, {7, 2}, {64, 2}, {1000, 2}};
  d.spare_fill = {{TailFill::minus_one}, {TailFill::stale}, {TailFill::random}, {TailFill::huge}};
  d.scale = {{1.0F, 10}, {0.5F, 1}, {2.0F, 1}, {0.125F, 1}, {0.037F, 1}, {3.3F, 1}};
  d.need_lse = {{false, 19}, {true, 1}};
  d.kv_splits = {{0, 4}, {1, 1}, {2, 1}, {3, 1}, {7, 1}, {16, 2}};
  d.kernel_rows = {{0, 20}, {4, 2}, {8, 1}};
  d.origin = {{Origin::zero, 40},          {Origin::near_page_2_16, 2},
              {Origin::near_page_2_24, 2}, {Origin::near_byte_2_31, 2},
              {Origin::near_byte_2_32, 2}, {Origin::near_page_2_31, 2}};
  d.prefill_arch = {{Arch::gfx950, 4}, {Arch::gfx942, 1}};
  d.prefill_dtype = {{mixed, 16}, {bf16, 5}, {fp8, 1}};
  d.prefill_planner = {
      {PlannerChoice::automatic, 10}, {PlannerChoice::v12, 10}, {PlannerChoice::none, 1}};
  d.prefill_heads = {{1, 8}, {2, 5},  {3, 2},  {4, 3},  {5, 1},
                     {8, 2}, {12, 2}, {16, 1}, {17, 1}, {24, 1}};
  d.fa_heads = {{1, 1}, {2, 3}, {4, 5}, {6, 1}, {8, 4}, {12, 1}, {16, 1}};
  d.fa_context = 300;
  d.long_qo_len = {{1, 4},   {2, 2},   {5, 2},   {31, 1},  {33, 1},  {100, 1},
                   {127, 1}, {128, 1}, {129, 1}, {255, 1}, {256, 1}, {257, 1}};
  d.workspace_tokens = {{65536, 4}, {64, 2}, {100, 2}, {256, 2}, {1024, 2}};
  d.kv_heads = {{1, 4}, {2, 1}, {4, 1}, {8, 2}};
  d.head_dim = {{128, 6}, {64, 2}, {96, 1}, {256, 1}, {32, 1}};
  d.window = {{-1, 6}, {0, 1}, {15, 1}, {127, 2}};
  d.requests = request_counts();
  d.uniform = {{true, 3}, {false, 1}};
  d.qo_len = query_lengths();
  d.later_steps = {{0, 30}, {1, 2}, {2, 1}, {3, 1}};
  d.max_kv_len = 4096;
  d.budget = d.total_budget = budget_of(size);
  d.max_seed = 9999;
  return d;
}

CaseDomain domain_of(const EnumerationBounds& bounds) {
  CaseDomain d;
  d.kind = {{StepKind::decode}};
  d.later_steps = {{0}};
  d.arch = evenly(bounds.archs);
  d.dtype = evenly(bounds.dtypes);
  d.heads = evenly(bounds.heads);
  d.page_size = {{1}};
  d.block_size = evenly(bounds.block_sizes);
  d.compute_units = evenly(bounds.compute_units);
  d.granularity = evenly(bounds.granularities);
  d.max_split = {{DecodeSpec{}.max_split}};
  d.causal = evenly(bounds.causal);
  d.layout = {{Layout::contiguous}};
  d.data = {{Distribution::normal}};
  d.planner = evenly(bounds.planners);
  d.pad_requests = evenly(bounds.pad_requests);
  d.spare_entries = {{0}};
  d.spare_fill = {{TailFill::minus_one}};
  d.scale = {{1.0F}};
  d.need_lse = {{false}};
  d.kv_splits = {{0}};
  d.kernel_rows = {{0}};
  d.origin = {{Origin::zero}};
  d.requests = evenly(up_to(1, bounds.max_requests));
  d.uniform = {{false}};
  d.qo_len = evenly(up_to(0, bounds.max_qo_len));
  d.every_kv_len = true;
  d.max_kv_len = bounds.max_kv_len;
  return d;
}

}  // namespace mla::prop
