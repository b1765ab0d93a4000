// ResolvedShape: every decision about a step, made once from case and batch, and carried along.
//
// Builder, planner, emulator, reducer and judge read it; none decides again. Source of the rules:
// aiter.md 4, vllm_metadata.md 1.4, 1.8-1.10.
// Fails: a combination that no kernel takes is refused with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/result.hpp"
#include "core/shape/head_padding.hpp"
#include "core/shape/kernel_table.hpp"
#include "core/shape/plan_shape.hpp"
#include "core/shape/planner_version.hpp"

namespace mla {

enum class Route : std::uint8_t {
  persistent,       // six buffers, stage 1 over work items, reduce
  persistent_rows,  // the same, with every query row as a request of its own
  split,            // non-persistent: equal splits of every request, stage 2 merge
};
std::string_view name(Route route);

struct ResolvedShape {
  Arch arch = Arch::gfx942;
  ComputeUnits compute_units{304};
  DtypePair dtype;
  Fp8Variant fp8 = Fp8Variant::e4m3fnuz;
  HeadPadding heads;
  RowWidths widths;
  bool causal = true;
  bool final_lse = false;       // the caller asks the kernel for the LSE of every row
  std::int64_t block_size = 1;  // tokens of a block of the block table
  std::int64_t page_size = 1;   // tokens of a page of kv_indices

  Route route = Route::persistent;
  std::string route_reason;  // why this route and not the one before it
  KernelEntry kernel{};
  std::vector<std::string> notes;  // what differs between the shipped kernel and this contract

  // Rows of the longest request as the engine has it, whatever the kernel sees.
  std::int64_t request_rows = 1;
  // Rows of the requests that the kernel sees (1 on route persistent_rows), leading rows included.
  std::int64_t max_qo_len = 1;
  std::int64_t uniform_qo_len = 1;  // -1 when ragged
  // Zero rows that the engine puts in front of every request, so that a kernel with a listed query
  // length takes it. Keys are right-aligned with the rows: the others see what they saw before.
  std::int64_t leading_rows = 0;

  // Routes persistent and persistent_rows.
  PlanShape plan;
  plan::PlannerVersion planner = plan::PlannerVersion::v1_2;
  plan::V12Kernel planner_kernel = plan::V12Kernel::automatic;
  std::int64_t granularity = 16;  // pages
  std::int64_t max_split = -1;

  // Route split.
  std::int64_t kv_splits = 0;          // splits of every request
  std::int64_t split_granularity = 0;  // tokens of a KV tile (`mgc`)

  // The key from which `plan` was resolved; the planner's and the size query's arguments.
  [[nodiscard]] PlanKey plan_key() const;
  // Heads of a row of the kernel's Q, partial and output buffers.
  [[nodiscard]] Heads row_heads() const;
  // Row of qo_indptr that holds query row `row` of the batch, on a route that keeps requests whole.
  [[nodiscard]] std::int64_t launch_row(std::int64_t row) const;
  // Kernel rows for each query row (`fold_ratio` on the persistent routes, otherwise 1).
  [[nodiscard]] std::int64_t fold_ratio() const;

  bool operator==(const ResolvedShape&) const = default;
};

// `told_rows` is max_seqlen_q of a launch that is told of more rows than a request has; 0: the
// longest.
Result<ResolvedShape> resolve_shape(const Case& c, const Batch& batch, std::int64_t told_rows = 0);

}  // namespace mla
