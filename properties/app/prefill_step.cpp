// What was decided about a prefill step: path, chunks of context, and the host's plan.
#include <nlohmann/json.hpp>
#include <optional>

#include "core/engine/step_hooks.hpp"
#include "core/say.hpp"
#include "properties/app/plan_table.hpp"
#include "properties/app/planned_step.hpp"
#include "properties/app/table_text.hpp"
#include "properties/dump/write/plan.hpp"
#include "properties/step/prefill/config.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;
using namespace prefill;

// A step as far as the host takes it.
struct HostStep {
  Case spec;
  Batch batch;
  PrefillShape shape;
  EngineConfig config;
  std::optional<ContextChunks> context;
  std::optional<plan::Plan> plan;  // of the new tokens
};

MaybeError add_context(HostStep& step) {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> context;
  std::int64_t cached = 0;
  for (const RequestSpec& r : step.batch.requests) {
    rows.push_back(r.qo_len);
    context.push_back(r.kv_len - r.qo_len);
    cached += context.back();
  }
  if (cached == 0) return std::nullopt;
  auto chunks = context_chunks(step.shape.rule, {.context_lens = context,
                                                 .qo_lens = rows,
                                                 .workspace_tokens = step.shape.workspace_tokens,
                                                 .block_size = step.shape.block_size});
  if (!chunks) return chunks.error();
  step.context = std::move(*chunks);
  return std::nullopt;
}

std::vector<std::int32_t> row_starts(const Batch& batch) {
  std::vector<std::int32_t> starts{0};
  for (const RequestSpec& r : batch.requests)
    starts.push_back(starts.back() + static_cast<std::int32_t>(r.qo_len));
  return starts;
}

MaybeError add_plan(HostStep& step) {
  if (step.shape.path == Path::flash) return std::nullopt;
  const PlannedLists lists = new_token_lists(row_starts(step.batch));
  const auto sizes = plan_sizes(step.config);
  if (!sizes) return sizes.error();
  auto plan = plan_prefill(lists, step.config, *sizes, StepHooks::none());
  if (!plan) return plan.error();
  step.plan = std::move(*plan);
  return std::nullopt;
}

Result<HostStep> host_step(const Case& c, const plan::StepPlanner* planner) {
  HostStep step;
  step.spec = c;
  auto batch = make_batch(c);
  if (!batch) return batch.error();
  step.batch = std::move(*batch);
  auto shape = resolve_prefill_shape(c, step.batch, StepHooks::none());
  if (!shape) return shape.error();
  step.shape = std::move(*shape);
  step.config = prop::config_of(c, prop::limits_of({c}), StepHooks::none(), planner);
  if (MaybeError bad = add_context(step)) return *bad;
  if (MaybeError bad = add_plan(step)) return *bad;
  return step;
}

std::string chunk_line(const ContextChunk& chunk) {
  std::string out = num(chunk.tokens()) + " tokens:";
  for (std::int64_t i = 0; i < chunk.requests(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (chunk.seq_lens[at] > 0)
      out += " request " + num(chunk.first_request + i) + " keys " +
             from_to(chunk.starts[at], chunk.starts[at] + chunk.seq_lens[at]);
  }
  return out + (chunk.is_continuation()
                    ? ", merged into earlier pieces up to row " + num(chunk.continuation_end)
                    : "");
}

std::string table(const HostStep& step) {
  const PrefillShape& s = step.shape;
  std::string out = row("case", format_case(step.spec)) + row("batch", batch_line(step.batch));
  out += row("device", say(name(s.arch), ", ", s.compute_units.count(), " compute units"));
  out += row("path", std::string(name(s.path)));
  for (const std::string& why : s.fallback) out += row("not fp8", why);
  out += row("arithmetic",
             say(name(s.arithmetic()), s.path == Path::flash ? "" : say(", ", name(s.fp8))));
  out += row("heads", heads_line(s.heads));
  if (step.context) {
    out += row("context", say(s.rule == ChunkRule::packed ? "packed" : "even", " in ",
                              num(std::ssize(step.context->chunks)), " chunks of at most ",
                              num(s.workspace_tokens), " tokens"));
    for (const ContextChunk& chunk : step.context->chunks) out += row("  chunk", chunk_line(chunk));
  }
  if (!step.plan) return out;
  out += row("planner", "on the host, tiles of " + num(kTileRows) + " rows, units of " +
                            num(kUnitTokens) + " keys, one head a work");
  return out + plan_text(*step.plan);
}

Json chunk_json(const ContextChunk& chunk) {
  return {{"first_request", chunk.first_request},
          {"starts", chunk.starts},
          {"seq_lens", chunk.seq_lens},
          {"rows", {chunk.rows.begin, chunk.rows.end}},
          {"continuation_end", chunk.continuation_end}};
}

Json document(const HostStep& step) {
  const PrefillShape& s = step.shape;
  Json out = {{"format", "mla-testbed prefill 1"}, {"name", format_case(step.spec)}};
  out["decisions"] = {{"path", name(s.path)},
                      {"fallback", s.fallback},
                      {"arithmetic", name(s.arithmetic())},
                      {"model_heads", s.heads.model.count()},
                      {"kernel_heads", s.heads.kernel.count()},
                      {"chunk_rule", s.rule == ChunkRule::packed ? "packed" : "even"}};
  out["context_chunks"] = Json::array();
  if (step.context)
    for (const ContextChunk& chunk : step.context->chunks)
      out["context_chunks"].push_back(chunk_json(chunk));
  if (!step.plan) return out;
  const PlannedLists lists = new_token_lists(row_starts(step.batch));
  const plan::PsInput call = plan_input_of(lists, step.config);
  out["arch"] = name(s.arch);
  out["num_cu"] = call.compute_units.count();
  out["seqlens_qo_indptr"] = lists.qo_indptr;
  out["pages_kv_indptr"] = lists.kv_indptr;
  out["context_lens"] = lists.context_lens;
  out["gqa_ratio"] = 1;
  out["num_heads_k"] = call.kv_heads.count();
  out["qhead_granularity"] = call.qhead_granularity;
  out["qlen_granularity"] = call.qlen_granularity;
  out["kvlen_granularity"] = call.kvlen_granularity;
  out["block_size"] = call.block_size;
  out["is_causal"] = call.causal;
  dump::write_plan(out, step.plan->sizes(), *step.plan);
  return out;
}

}  // namespace

Result<PlannedStep> plan_prefill_step(const Case& c, const plan::StepPlanner* planner) {
  const auto step = host_step(c, planner);
  if (!step) return step.error();
  return PlannedStep{table(*step), document(*step).dump()};
}

}  // namespace mla::app
