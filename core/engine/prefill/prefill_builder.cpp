#include "core/engine/prefill/prefill_builder.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla::prefill {
namespace {

MaybeError check_limit(const char* what, std::int64_t have, std::int64_t limit) {
  if (have <= limit) return std::nullopt;
  return Error{ErrorCode::overrun,
               say("the step has ", have, " ", what, ", declared were at most ", limit), "BUG-079"};
}

MaybeError check_limits(const PrefillMetadata& md, const Limits& limits) {
  if (MaybeError bad = check_limit("requests", md.requests().count(), limits.max_requests.count()))
    return bad;
  if (MaybeError bad = check_limit("query rows", md.rows().count(), limits.max_rows.count()))
    return bad;
  for (std::size_t r = 0; r < md.context_lens.size(); ++r) {
    const std::int64_t n = md.context_lens[r] + md.query_start_loc[r + 1] - md.query_start_loc[r];
    if (MaybeError bad = check_limit("keys in one request", n, limits.max_model_len.count()))
      return bad;
  }
  return std::nullopt;
}

PrefillMetadata lists_of(const Batch& batch, const PrefillShape& shape) {
  PrefillMetadata md;
  md.shape = shape;
  md.query_start_loc.push_back(0);
  for (const RequestSpec& r : batch.requests) {
    md.query_start_loc.push_back(md.query_start_loc.back() + static_cast<std::int32_t>(r.qo_len));
    md.context_lens.push_back(r.kv_len - r.qo_len);
  }
  md.block_table = batch.block_table;
  md.columns = batch.columns;
  return md;
}

MaybeError build_chunks(PrefillMetadata& md, const Batch& batch, const Hooks& hooks) {
  ChunkRule rule = md.shape.rule;
  hooks.on_chunk_rule(rule);
  std::vector<std::int64_t> rows;
  for (const RequestSpec& r : batch.requests) rows.push_back(r.qo_len);
  auto chunks = context_chunks(rule, {.context_lens = md.context_lens,
                                      .qo_lens = rows,
                                      .workspace_tokens = md.shape.workspace_tokens,
                                      .block_size = md.shape.block_size});
  if (!chunks) return chunks.error();
  if (!chunks->chunks.empty()) md.context = std::move(*chunks);
  return std::nullopt;
}

// The numbers of works and of partial tiles, in a plan that this core did not make.
MaybeError check_counts(const plan::Plan& plan) {
  const auto check = [](const plan::PlanBuffer& indptr, const char* what, std::int64_t room) {
    const std::int64_t last = indptr.at(indptr.size() - 1);
    if (last >= 0 && last <= room) return MaybeError();
    return MaybeError(Error{ErrorCode::fault, say(indptr.name(), " of the plan ends with ", last,
                                                  ", and ", room, " ", what, " have room")});
  };
  if (MaybeError bad = check(plan.work_indptr, "works", plan.sizes().work_items)) return bad;
  return check(plan.reduce_indptr, "partial tiles", plan.sizes().reduce_partial_map);
}

// A chunk's plan has buffers of its own: all chunks are planned before the first kernel runs. Only
// path fp8_context has a context here.
MaybeError build_context_plans(PrefillMetadata& md, const EngineConfig& config, Words identity,
                               const Device& device, const Hooks& hooks) {
  if (!md.context) return std::nullopt;
  for (const ContextChunk& chunk : md.context->chunks) {
    plan::PsSizeQuery query = size_query_of(config);
    query.batch = Requests(chunk.requests());
    query.max_qo_len = chunk.max_query_len;
    const auto sizes = plan_sizes(config, query);
    if (!sizes) return sizes.error();
    PlannedLists lists = chunk_lists(chunk);
    const auto plan = plan_prefill(lists, config, *sizes, hooks);
    if (!plan) return plan.error();
    md.context_plans.push_back(
        {host_plan(std::move(lists.qo_indptr), std::move(lists.kv_indptr), *plan),
         PlanBuffers(device.heap, "context plan", *sizes, chunk.requests()),
         {}});
  }
  for (ContextPlan& c : md.context_plans) {
    auto fields = copy_plan(c.host, c.buffers, identity, device.stream);
    if (!fields) return fields.error();
    c.fields = *fields;
  }
  return std::nullopt;
}

}  // namespace

Result<PrefillBuffers> make_prefill_buffers(const EngineConfig& config, const Device& device) {
  if (!config.fp8) return PrefillBuffers{};
  const auto sizes = plan_sizes(config);
  if (!sizes) return sizes.error();
  const std::int64_t tokens = std::max(config.limits.max_rows.count(), config.workspace_tokens);
  return PrefillBuffers{
      PlanBuffers(device.heap, "fp8_prefill", *sizes, config.limits.max_requests.count()),
      make_identity(device.heap, device.stream, tokens),
      {}};
}

PlannedLists new_token_lists(const std::vector<std::int32_t>& query_start_loc) {
  PlannedLists lists{query_start_loc, query_start_loc, {}, true};
  for (std::size_t r = 0; r + 1 < query_start_loc.size(); ++r)
    lists.context_lens.push_back(query_start_loc[r + 1] - query_start_loc[r]);
  return lists;
}

PlannedLists chunk_lists(const ContextChunk& chunk) {
  return {chunk.query_start_loc, chunk.cu_seq_lens, chunk.seq_lens, false};
}

plan::PsInput plan_input_of(const PlannedLists& lists, const EngineConfig& config) {
  return {.compute_units = config.compute_units,
          .kv_heads = config.kernel_heads,
          .qo_indptr = lists.qo_indptr,
          .kv_indptr = lists.kv_indptr,
          .context_lens = lists.context_lens,
          .qhead_granularity = 1,
          .qlen_granularity = kTileRows,
          .kvlen_granularity = kUnitTokens,
          .block_size = 1,
          .causal = lists.causal,
          .fidelity = plan::Fidelity::safe};
}

Result<PlanFields> stage_plan(const HostPlan& plan, PrefillBuffers& buffers, const Device& device) {
  return buffers.staging.stage(plan, buffers.plan, buffers.identity.view(), device.stream,
                               device.ledger);
}

Result<plan::Plan> plan_prefill(const PlannedLists& lists, const EngineConfig& config,
                                const plan::BufferSizes& sizes, const Hooks& hooks) {
  plan::PsInput input = plan_input_of(lists, config);
  hooks.on_prefill_plan(input);
  if (config.planner == nullptr) return plan::plan_ps_prefill(input, sizes);
  auto plan = config.planner->plan_prefill(input, sizes);
  if (plan)
    if (MaybeError bad = check_counts(*plan)) return *bad;
  return plan;
}

Result<PrefillMetadata> build_prefill(const Batch& batch, const PrefillShape& shape,
                                      const EngineConfig& config, PrefillBuffers& buffers,
                                      const Device& device, const Hooks& hooks) {
  PrefillMetadata md = lists_of(batch, shape);
  if (MaybeError bad = check_limits(md, config.limits)) return *bad;
  if (MaybeError bad = build_chunks(md, batch, hooks)) return *bad;
  if (shape.path == Path::flash) return md;
  if (!config.fp8)
    return Error{ErrorCode::refused,
                 say("path ", name(shape.path), " on an engine without its buffers"), "BUG-096"};
  if (shape.heads.kernel != config.kernel_heads)
    return Error{ErrorCode::refused,
                 say("the kernel gets ", shape.heads.kernel.count(),
                     " heads, plan and scratch are made for ", config.kernel_heads.count()),
                 "BUG-021"};
  const auto sizes = plan_sizes(config);
  if (!sizes) return sizes.error();
  PlannedLists lists = new_token_lists(md.query_start_loc);
  const auto plan = plan_prefill(lists, config, *sizes, hooks);
  if (!plan) return plan.error();
  // New tokens have one list for rows and keys.
  StagePlan stage = stage_plan;
  hooks.on_staging(stage);
  auto fields = stage(host_plan(std::move(lists.qo_indptr), {}, *plan), buffers, device);
  if (!fields) return fields.error();
  md.fp8 = *fields;
  if (MaybeError bad = build_context_plans(md, config, buffers.identity.view(), device, hooks))
    return *bad;
  return md;
}

}  // namespace mla::prefill
