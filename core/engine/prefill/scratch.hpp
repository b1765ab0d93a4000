// Scratch of the fp8 prefill: how much of the workspace a step uses, and the worst case of all.
//
// An engine reserves the worst case when it starts and locks the workspace; a step that needs more
// fails (vLLM #42978, BUG-089). Units: tiles of kTileRows partial rows, f32 elements, bytes.
// Fails: reserve_scratch() as the size query or the workspace does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/engine/device/workspace.hpp"
#include "core/engine/prefill/hooks.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/plan/step_planner.hpp"
#include "core/result.hpp"
#include "core/units.hpp"

namespace mla::prefill {

// What an engine declares when it starts: no step is larger.
struct Limits {
  Requests max_requests{1};  // max_num_seqs
  Rows max_rows{1};          // max_num_batched_tokens
  Tokens max_model_len{1};
};

// Which number of partial tiles is reserved.
enum class ScratchBound : std::uint8_t {
  size_query,    // the length of reduce_partial_map: every request may have all rows (BUG-064)
  token_budget,  // what a batch within the limits can need (vLLM #57923)
};

struct EngineConfig {
  bool fp8 = true;  // the capability: without it nothing is allocated or reserved
  ComputeUnits compute_units{256};
  Heads kernel_heads{16};  // padded
  Limits limits;
  std::int64_t workspace_tokens = 65536;  // of the context workspace
  bool context_plans = false;             // path fp8_context: plans over context chunks, too
  ScratchBound bound = ScratchBound::token_budget;
  const plan::StepPlanner* planner = nullptr;  // outlives the engine; null: the core plans
};

// What the planner's size query is asked for all steps of an engine.
plan::PsSizeQuery size_query_of(const EngineConfig& config);
// The answer of the engine's planner to that, and to another query.
Result<plan::BufferSizes> plan_sizes(const EngineConfig& config);
Result<plan::BufferSizes> plan_sizes(const EngineConfig& config, const plan::PsSizeQuery& query);

// Parts of the scratch, f32, one after the other.
struct ScratchLayout {
  std::int64_t partial_out = 0;  // elements: [tiles * kTileRows, heads, kVDim]
  std::int64_t partial_lse = 0;  // [tiles * kTileRows, heads]
  std::int64_t final_lse = 0;    // [rows, heads]
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(partial_out + partial_lse + final_lse) * sizeof(float);
  }
};
ScratchLayout scratch_layout(std::int64_t partial_tiles, Heads kernel_heads, Rows rows);

// Partial tiles that a batch within the limits can have at most.
//
// The planner fills its slots one after the other, so it cuts at most once between two of them. A
// cut tile has one piece more than cuts: at most two pieces for each cut, and at most one more
// piece than cuts for each tile. Besides, pieces are whole units of kUnitTokens keys, and a tile of
// one unit is not cut: tile i of a request of q new rows has the units of its last row's keys,
// which makes at most u(q) units in tiles of two and more, and over all requests at most max_rows
// times the largest u(q)/q. As u(q) grows only where a unit begins, those q are all to look at.
std::int64_t most_partial_tiles(const EngineConfig& config);

MaybeError reserve_scratch(const EngineConfig& config, device::Workspace& workspace,
                           const Hooks& hooks);

}  // namespace mla::prefill
