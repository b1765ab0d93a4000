// What was decided about a step of the AITER FA backend: its three runs, chunks and window.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/engine/fa/runner.hpp"
#include "core/say.hpp"
#include "properties/app/planned_step.hpp"
#include "properties/app/table_text.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

struct FaHostStep {
  Case spec;
  fa::Layer layer;
  fa::OrderedBatch ordered;
  fa::StepParts parts;
  std::optional<fa::DecodeRoute> route;  // of the decode run
  bool lengths_copied = false;           // the step pays a copy of the KV lengths to the host
};

Result<FaHostStep> fa_host_step(const Case& c) {
  FaHostStep step;
  step.spec = c;
  auto layer = fa::resolve_layer(c);
  if (!layer) return layer.error();
  step.layer = *layer;
  auto ordered = fa::make_ordered_batch(c);
  if (!ordered) return ordered.error();
  step.ordered = std::move(*ordered);
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> keys;
  for (const RequestSpec& r : step.ordered.batch.requests) {
    rows.push_back(r.qo_len);
    keys.push_back(r.kv_len);
  }
  const std::int64_t threshold = fa::decode_threshold(c);
  const ThreeWaySplit split = split_decodes_prefills_and_extends(
      {.qo_lens = rows, .kv_lens = keys, .threshold = threshold, .num_rows = {}});
  step.lengths_copied = !all_decodes(rows, threshold);
  auto parts = fa::plan_parts(
      {.qo_lens = rows,
       .split = split,
       .window = step.layer.window,
       .workspace_tokens = std::min(c.fa().workspace_tokens, fa::kContextTokensPerChunk)},
      step.lengths_copied ? fa::HostSeqLens::copied(keys) : fa::HostSeqLens::absent());
  if (!parts) return parts.error();
  step.parts = std::move(*parts);
  if (split.decodes == Requests(0)) return step;
  auto route = fa::route_decode(step.layer, c.causal, step.parts.decode_max_query_len);
  if (!route) return route.error();
  step.route = std::move(*route);
  return step;
}

std::string run_line(Requests requests, Rows rows, std::int64_t longest) {
  return num(requests.count()) + " requests, " + num(rows.count()) + " rows, at most " +
         num(longest) + " a request";
}

std::string extend_rows(const fa::ExtendPlan& extend) {
  std::string out = row("context", num(extend.chunks.num_chunks) + " chunks of every extend");
  for (std::int64_t c = 0; c < extend.chunks.num_chunks; ++c) {
    const auto at = static_cast<std::size_t>(c);
    out += row("  chunk", num(extend.chunks.total_token_per_batch[at]) + " tokens, at most " +
                              num(extend.chunks.max_seq_lens[at]) + " of a request");
  }
  if (extend.window)
    out += row("window", "one gather of " + num(extend.window->total_tokens) + " tokens, at most " +
                             num(extend.window->max_seqlens) + " of a request");
  return out;
}

std::string table(const FaHostStep& step) {
  const fa::Layer& l = step.layer;
  const fa::StepParts& p = step.parts;
  const ThreeWaySplit& s = p.split;
  std::string out =
      row("case", format_case(step.spec)) + row("batch", batch_line(step.ordered.batch));
  out += row("layer", num(l.heads.count()) + " heads share " + num(l.kv_heads.count()) +
                          " KV heads of " + num(l.head_dim) + " elements; blocks of " +
                          num(l.block_size) + " tokens" +
                          (l.window < 0 ? "" : "; window of " + num(l.window) + " keys"));
  std::string order;
  for (const std::int64_t origin : step.ordered.origin) order += " " + num(origin);
  out += row("order", "requests of the case:" + order);
  out += row("decodes", run_line(s.decodes, s.decode_rows, p.decode_max_query_len));
  if (step.route) out += row("kernel", say(name(step.route->kernel), ": ", step.route->reason));
  out += row("extends",
             run_line(s.extends, s.extend_rows, p.extend ? p.extend->lengths.max_query_len : 0));
  if (p.extend) out += extend_rows(*p.extend);
  out += row("prefills",
             run_line(s.prefills, s.prefill_rows, p.prefill ? p.prefill->max_query_len : 0));
  return out + row("transfers", step.lengths_copied
                                    ? "seq_lens to the host: there is an extend or a prefill"
                                    : "none: a step of decodes");
}

Json document(const FaHostStep& step) {
  const ThreeWaySplit& s = step.parts.split;
  const auto run = [](Requests requests, Rows rows) {
    return Json{{"requests", requests.count()}, {"rows", rows.count()}};
  };
  Json out = {{"format", "mla-testbed fa 1"}, {"name", format_case(step.spec)}};
  out["order"] = step.ordered.origin;
  out["decodes"] = run(s.decodes, s.decode_rows);
  out["extends"] = run(s.extends, s.extend_rows);
  out["prefills"] = run(s.prefills, s.prefill_rows);
  if (step.route)
    out["decode_kernel"] = {{"name", name(step.route->kernel)}, {"reason", step.route->reason}};
  out["copies_seq_lens"] = step.lengths_copied;
  if (!step.parts.extend) return out;
  const fa::ChunkPlan& chunks = step.parts.extend->chunks;
  out["num_chunks"] = chunks.num_chunks;
  out["cu_seq_lens_chunk"] = chunks.cu_seq_lens;
  out["chunk_starts"] = chunks.chunk_starts;
  if (const auto& window = step.parts.extend->window) {
    out["swa_cu_seqlens"] = window->cu_seqlens;
    out["swa_seq_starts"] = window->seq_starts;
  }
  return out;
}

}  // namespace

Result<PlannedStep> plan_fa_step(const Case& c) {
  const auto step = fa_host_step(c);
  if (!step) return step.error();
  return PlannedStep{table(*step), document(*step).dump()};
}

}  // namespace mla::app
