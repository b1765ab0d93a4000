#include "properties/step/fa/run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/case/steps.hpp"
#include "core/engine/fa/decode_call.hpp"
#include "core/say.hpp"
#include "properties/generate/cost.hpp"
#include "properties/generate/sample.hpp"
#include "properties/step/fa/tensors.hpp"

namespace mla::prop {
namespace {

using device::DeviceView;
using device::Stream;

std::int64_t workspace_tokens(const Case& c) {
  return std::min(c.fa().workspace_tokens, fa::kContextTokensPerChunk);
}

fa::BuilderOptions options_of(const Case& c, const fa::Layer& layer) {
  return {.threshold = fa::decode_threshold(c),
          .window = layer.window,
          .workspace_tokens = workspace_tokens(c),
          .kv_heads = layer.kv_heads,
          .head_dim = layer.head_dim};
}

// What of a step has to stay where it is until the stream has run.
struct InFlight {
  FaStepRun run;
  fa::StepInput input;
  fa::DeviceTensors tensors;
  fa::Metadata metadata;
  DeviceView<std::int32_t> decode_cu_seqlens;
};

// The hooks of the run, and a look at what they leave of the step at hand.
class WatchedHooks final : public fa::Hooks {
 public:
  explicit WatchedHooks(const fa::Hooks& hooks) : hooks_(hooks) {}
  void look_at(InFlight& step) { step_ = &step; }

  void on_fa_build(const fa::StepInput& input, Stream& stream) const override {
    hooks_.on_fa_build(input, stream);
  }
  void on_fa_split(const fa::StepInput& input, ThreeWaySplit& split) const override {
    hooks_.on_fa_split(input, split);
  }
  void on_fa_parts(fa::StepParts& parts) const override {
    hooks_.on_fa_parts(parts);
    step_->run.parts = parts;
  }
  void on_fa_metadata(fa::Metadata& metadata) const override { hooks_.on_fa_metadata(metadata); }
  void on_fa_decode_call(const fa::Layer& layer, fa::DecodeCall& call) const override {
    hooks_.on_fa_decode_call(layer, call);
    step_->decode_cu_seqlens = call.cu_seqlens_q;
    step_->run.max_seqlen_q = call.max_seqlen_q;
    step_->run.route = fa::name(call.route.kernel);
  }

 private:
  const fa::Hooks& hooks_;
  InFlight* step_ = nullptr;
};

class FaEngine {
 public:
  FaEngine(const fa::Kernels& kernels, const fa::Hooks& hooks, int threads)
      : kernels_(kernels), hooks_(hooks), watched_(hooks), threads_(threads) {}

  Result<std::vector<FaStepRun>> run(const std::vector<Case>& steps) {
    for (const Case& c : steps)
      if (MaybeError bad = prepare(c)) return of_step(steps_.size(), *bad);
    fa::RunnerLimits limits;
    for (const auto& s : steps_) limits = fa::largest(limits, fa::limits_of(s->run.ordered.batch));
    const fa::RunnerBuffers runner(limits, heap_);
    const fa::MetadataBuilder builder(options_of(steps.front(), steps_.front()->run.layer),
                                      watched_);
    const fa::BuilderBuffers scratch = builder.allocate(heap_);
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (MaybeError bad = queue(*steps_[i], builder, runner, scratch)) return of_step(i, *bad);
    std::vector<FaStepRun> out;
    for (const auto& s : steps_) {
      s->run.result = fa::read_result(s->tensors, stream_);
      out.push_back(std::move(s->run));
    }
    for (const std::string& fault : heap_.faults())
      out.front().result.faults.push_back({fault, -1, -1});
    return out;
  }

 private:
  MaybeError prepare(const Case& c) {
    auto layer = fa::resolve_layer(c);
    if (!layer) return layer.error();
    auto ordered = fa::make_ordered_batch(c);
    if (!ordered) return ordered.error();
    auto step = std::make_unique<InFlight>();
    step->run.spec = c;
    step->run.layer = *layer;
    step->run.ordered = std::move(*ordered);
    hooks_.on_fa_order(step->run.ordered);
    step->run.tensors = make_fa_tensors(c, step->run.ordered, *layer);
    steps_.push_back(std::move(step));
    return std::nullopt;
  }

  MaybeError queue(InFlight& step, const fa::MetadataBuilder& builder,
                   const fa::RunnerBuffers& runner, const fa::BuilderBuffers& scratch) {
    FaStepRun& run = step.run;
    auto input = fa::stage_step(run.ordered.batch, {run.spec.causal}, runner, stream_);
    if (!input) return input.error();
    step.input = std::move(*input);
    hooks_.on_fa_input(step.input, stream_);
    step.tensors = fa::upload_tensors(run.tensors, run.layer, heap_, stream_);
    ledger_.clear();
    watched_.look_at(step);
    auto metadata = builder.build(0, step.input, scratch, heap_, stream_);
    if (!metadata) return metadata.error();
    step.metadata = std::move(*metadata);
    MaybeError bad = fa::queue_forward({run.layer, step.metadata, step.tensors, kernels_, threads_},
                                       stream_, watched_);
    if (!bad) queue_look(step);
    for (const device::Transfer& wait : ledger_.waits()) run.waits.push_back(wait.name);
    return bad;
  }

  // Copies the lists when the step's kernels have run: later steps overwrite the runner's.
  void queue_look(InFlight& step) {
    stream_.launch("look at the lists", [&step](const device::DeviceAccess& access) {
      const auto copy = [&access](DeviceView<std::int32_t> view, std::vector<std::int32_t>& to) {
        const auto from = view.on(access);
        to.assign(from.begin(), from.end());
      };
      const fa::Metadata& md = step.metadata;
      FaLists& to = step.run.lists;
      copy(md.query_start_loc, to.query_start_loc);
      copy(step.decode_cu_seqlens, to.decode_cu_seqlens);
      if (md.prefill) copy(md.prefill->query_start_loc.view(), to.prefill_query_start_loc);
      if (!md.extend) return;
      const fa::ChunkContext& chunks = md.extend->chunk_context;
      copy(md.extend->query_start_loc.view(), to.extend_query_start_loc);
      copy(chunks.cu_seq_lens_chunk.view(), to.cu_seq_lens_chunk);
      copy(chunks.chunk_starts.view(), to.chunk_starts);
      copy(chunks.token_to_batch.view(), to.token_to_batch);
      if (!chunks.swa_metadata) return;
      copy(chunks.swa_metadata->swa_cu_seqlens.view(), to.swa_cu_seqlens);
      copy(chunks.swa_metadata->swa_seq_starts.view(), to.swa_seq_starts);
      copy(chunks.swa_metadata->swa_token_to_batch.view(), to.swa_token_to_batch);
    });
  }

  const fa::Kernels& kernels_;
  const fa::Hooks& hooks_;
  WatchedHooks watched_;
  int threads_;
  device::DeviceHeap heap_;
  device::TransferLedger ledger_;
  std::vector<std::unique_ptr<InFlight>> steps_;
  Stream stream_{ledger_};  // runs what is left before anything above goes
};

// Parts of bf16 that a value of this request passes: partitions of a decode, or chunks of its
// context, if all requests that are no decodes shared the workspace.
std::int64_t merges_of(const Case& c, const RequestSpec& request, std::int64_t sharers) {
  if (request.qo_len <= fa::decode_threshold(c) || c.fa().window >= 0 || sharers == 0) return 1;
  const std::int64_t chunk = std::max<std::int64_t>(workspace_tokens(c) / sharers, 1);
  return 1 + ceil_div(std::max<std::int64_t>(request.kv_len - request.qo_len, 0), chunk);
}

}  // namespace

Result<std::vector<FaStepRun>> run_fa(const std::vector<Case>& steps, const StepContext& context,
                                      int threads) {
  const fa::Kernels* kernels = context.backend.fa_kernels();
  if (kernels == nullptr) return Error{ErrorCode::unsupported, "the backend has no FA step"};
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (const MaybeError too_much = why_not_executed(steps[i], context.limits))
      return of_step(i, *too_much);
  auto runs = FaEngine(*kernels, context.hooks, threads).run(steps);
  if (!runs) return runs;
  for (const FaStepRun& step : *runs) context.log.note(step.result.launches);
  return runs;
}

std::vector<std::int64_t> bf16_merges(const FaStepRun& run) {
  const auto& requests = run.ordered.batch.requests;
  const std::int64_t threshold = fa::decode_threshold(run.spec);
  const std::int64_t sharers = std::count_if(
      requests.begin(), requests.end(),
      [threshold](const RequestSpec& r) { return r.qo_len > threshold || r.kv_len == r.qo_len; });
  std::vector<std::int64_t> merges;
  for (const RequestSpec& r : requests) merges.push_back(merges_of(run.spec, r, sharers));
  return merges;
}

cpu::ReferenceResult reference_of(const FaStepRun& run) {
  const std::vector<std::int64_t> pairs = sampled_pairs(run.spec, run.ordered.batch.requests);
  return cpu::fa_reference({.batch = run.ordered.batch,
                            .tensors = run.tensors,
                            .layer = run.layer,
                            .causal = run.spec.causal,
                            .bf16_merges = bf16_merges(run),
                            .pairs = pairs});
}

}  // namespace mla::prop
