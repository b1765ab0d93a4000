// CaseDomain: the values that each field of a drawn case may take, and how much work it may be.
//
// Data only: draw_case() (cases.hpp) reads it, at random or exhaustively. Units: requests, rows,
// tokens, heads as named; `budget` in units of cost_of().
#pragma once

#include <cstdint>
#include <vector>

#include "core/case/case.hpp"
#include "properties/generate/choices.hpp"

namespace mla::prop {

// Where the physical blocks start. The near ones straddle the boundary with the case's own blocks.
enum class Origin : std::uint8_t {
  zero,
  near_page_2_16,  // page ids around 2^16
  near_page_2_24,  // page ids around 2^24, where a float or a 24-bit product ends
  near_byte_2_31,  // byte offsets around 2^31
  near_byte_2_32,  // byte offsets around 2^32
  near_page_2_31,  // the last ids that an int32 page index holds
};

// Lengths from low to high, both included.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct CaseDomain {
  Options<StepKind> kind;
  Options<Arch> arch;
  Options<DtypePair> dtype;
  Options<std::int64_t> heads;
  Options<std::int64_t> page_size;
  Options<std::int64_t> block_size;     // those that are no multiple of the page are left out
  Options<std::int64_t> compute_units;  // 0: those of the architecture's product
  Options<std::int64_t> granularity;
  Options<std::int64_t> max_split;
  Options<bool> causal;
  Options<Layout> layout;
  Options<Distribution> data;
  Options<PlannerChoice> planner;
  Options<std::int64_t> pad_requests;
  bool pad_to_graph = false;  // up to the next size that engines capture, instead
  Options<std::int64_t> spare_entries;
  Options<TailFill> spare_fill;
  Options<float> scale;  // of an fp8 query, and of an fp8 cache
  Options<bool> need_lse;
  Options<std::int64_t> kv_splits;  // of a case that asks for no plan
  Options<std::int64_t> kernel_rows;
  Options<Origin> origin;

  // Read for kinds other than decode, which have longer queries too.
  Options<Arch> prefill_arch;
  Options<DtypePair> prefill_dtype;
  Options<PlannerChoice> prefill_planner;
  Options<std::int64_t> prefill_heads;
  Options<std::int64_t> fa_heads;
  std::int64_t fa_context = 0;  // most cached keys of an FA request
  Options<std::int64_t> long_qo_len;
  Options<std::int64_t> workspace_tokens;
  Options<std::int64_t> kv_heads;  // those that do not divide the heads are left out
  Options<std::int64_t> head_dim;
  Options<std::int64_t> window;

  Options<std::int64_t> requests;
  Options<bool> uniform;  // whether all requests have the rows of the first
  Options<std::int64_t> qo_len;
  Options<std::int64_t> later_steps;
  // Every length up to max_kv_len; or lengths in these ranges, as many requests as the budget
  // holds; or lengths that favour the boundaries of blocks, pages, granules and rows, within the
  // budget.
  bool every_kv_len = false;
  Options<Range> kv_ranges;
  std::int64_t max_kv_len = 0;
  std::int64_t max_keys = 0;      // of all requests together, where lengths come in ranges; 0: any
  std::int64_t budget = 0;        // of the first step; 0: none
  std::int64_t total_budget = 0;  // of all steps
  std::int64_t max_seed = 0;      // of layout, data and schedule; 0: each keeps its default
};

// The whole space of cases, biased towards boundaries. `size` from 0 to 100 is RapidCheck's: small
// sizes give cheap cases.
CaseDomain random_domain(int size);

// The corner of the space that enumerate_cases() exhausts.
struct EnumerationBounds {
  std::int64_t max_requests = 2;
  std::int64_t max_qo_len = 3;  // rows, from 0
  std::int64_t max_kv_len = 4;  // tokens; every request has no key or at least as many as rows
  std::vector<std::int64_t> heads{16};
  std::vector<std::int64_t> block_sizes{1};
  std::vector<std::int64_t> compute_units{1, 4};
  std::vector<Arch> archs{Arch::gfx942, Arch::gfx950};
  std::vector<DtypePair> dtypes{{Dtype::bf16, Dtype::bf16}};
  std::vector<bool> causal{true};
  std::vector<std::int64_t> granularities{1};
  std::vector<PlannerChoice> planners{PlannerChoice::automatic};
  std::vector<std::int64_t> pad_requests{0};
};

CaseDomain domain_of(const EnumerationBounds& bounds);

}  // namespace mla::prop
