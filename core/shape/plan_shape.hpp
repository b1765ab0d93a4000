// PlanShape: what a planner decides before it looks at a single length.
//
// Native or folded heads, packed rows of a workgroup, tiles of a request, slots of the device:
// decided here once and carried by value (half of the bug corpus is this decision made twice). The
// persistent planner v1.2, the resolved shape of a case, the emulator and the reducer all read it.
// Source: AITER csrc/kernels/mla/metadata/v1_2_device.cuh, step 1; spec aiter.md 3.2.
// Fails: head counts that no kernel takes are refused with the reason.
#pragma once

#include <cstdint>

#include "core/arch.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace mla {

// Everything the decision depends on.
struct PlanKey {
  Arch arch = Arch::gfx942;
  ComputeUnits compute_units{304};
  Heads heads_per_kv_head{16};  // query heads that share one KV head, already padded
  Heads kv_heads{1};
  DtypePair dtype{};
  std::int64_t max_qo_len = 1;  // rows; -1 is legal and means "unknown"
  bool experimental = false;    // AITER_ENABLE_EXPERIMENTAL
};

struct PlanShape {
  bool native = true;                     // the kernel takes all heads as they are
  std::int64_t fold_ratio = 1;            // planning requests for one request when heads are folded
  Heads plan_heads{16};                   // heads of one planning request, after folding
  std::int64_t rows_per_workgroup = 128;  // packed (row, head) pairs that a workgroup holds
  bool query_split = false;               // a request may need several tiles
  ComputeUnits slots{0};                  // persistent workgroups

  // Tiles of a planning request with `qo_len` rows, and rows of each tile but the last.
  // A request without rows has no tile when the query is split, and one empty tile otherwise.
  [[nodiscard]] std::int64_t tiles(std::int64_t qo_len) const;
  [[nodiscard]] std::int64_t tile_rows(std::int64_t qo_len) const;

  bool operator==(const PlanShape&) const = default;
};

// The decision of planner v1.2.
Result<PlanShape> resolve_plan_shape(const PlanKey& key);

// The decision of planners v1.0 and v1.1, which ignore architecture and dtype (aiter.md 3.3).
Result<PlanShape> resolve_plan_shape_v11(const PlanKey& key);

}  // namespace mla
