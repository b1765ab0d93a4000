// StepLoad: what a decode step asks of a device, as the model of its time reads it.
//
// Counted from the plan (or, without one, from the splits) alone: which slot runs how many works
// over how many keys, and what the reduce merges. Keys and rows are counts; packed rows are
// (query row, head) pairs. Nothing here is a time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arch.hpp"
#include "core/engine/decode_metadata.hpp"
#include "core/plan/plan_check_input.hpp"
#include "core/units.hpp"

namespace mla::timing {

// A step with a plan that plan_check() accepts, and the device that it is for.
struct PlannedStep {
  plan::PlanCheckInput check;
  Arch arch = Arch::gfx950;
  DtypePair dtype = {};
  RowWidths widths = {};
  ComputeUnits units{0};
  std::int64_t granularity = 16;  // pages of a block of work

  // Of the kernel's query, not folded.
  [[nodiscard]] std::int64_t heads() const {
    return check.shape.plan_heads.count() * check.shape.fold_ratio;
  }
};

// One work of stage 1.
struct Piece {
  std::int64_t keys = 0;
  std::int64_t packed_rows = 0;
  bool operator==(const Piece&) const = default;
};

struct StepLoad {
  Arch arch = Arch::gfx950;
  DtypePair dtype = {};
  RowWidths widths = {};
  bool planned = true;  // persistent, with a plan
  bool dealt = false;   // the keys of a rank, dealt out one by one
  ComputeUnits units{0};
  std::int64_t tile_rows = 0;  // packed rows of the largest work: these choose the kernel

  // With a plan: the works of each slot that has some, in their order.
  std::vector<std::vector<Piece>> slots = {};
  // Without: the workgroups in the order of their dispatch, split 0 of every request first. One
  // without keys ends at once.
  std::vector<Piece> workgroups = {};

  std::int64_t longest_merge = 0;  // pieces of the longest list that is merged; 0: no merge
  std::int64_t partial_rows = 0;   // packed rows that the merge reads

  std::int64_t requests = 0;       // that have rows and keys
  std::int64_t keys = 0;           // of all of them, each counted once
  std::int64_t packed_rows = 0;    // of all of them, each counted once
  std::int64_t shortest_keys = 0;  // of a request
  std::int64_t longest_keys = 0;
  std::int64_t most_tiles = 1;    // works that read the same keys of one request
  std::int64_t page_size = 1;     // tokens
  std::int64_t granularity = 16;  // pages of a block of work
};

// Of a step that has a plan, or gets this one; it refers to the metadata.
PlannedStep planned_step_of(const DecodeMetadata& metadata, const plan::PlanView& plan);
StepLoad load_of(const PlannedStep& step);
// On either route.
StepLoad load_of(const DecodeMetadata& metadata);

}  // namespace mla::timing
