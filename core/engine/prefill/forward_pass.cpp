#include "core/engine/prefill/forward_pass.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace mla::prefill {

ForwardPass::ForwardPass(const PrefillLaunch& launch, const Kernels& kernels,
                         const ExecutionOptions& options, device::Stream& stream,
                         device::DeviceView<std::byte> scratch, PrefillResult& result)
    : md_(launch.metadata),
      tensors_(launch.tensors),
      kernels_(kernels),
      options_(options),
      stream_(stream),
      scratch_(scratch),
      result_(result),
      rows_(md_.rows().count()),
      heads_(tensors_.heads),
      out_("the output", rows_ * heads_ * kVDim),
      lse_("the LSE", rows_ * heads_) {}

void ForwardPass::launch(std::string name, Operation operation) {
  stream_.launch(std::move(name), [self = shared_from_this(), operation = std::move(operation)](
                                      const device::DeviceAccess& access) { operation(access); });
}

KernelContext ForwardPass::context() {
  return {md_.shape.arch,       options_.threads, options_.schedule_seed, faults_, launches_,
          options_.timing_seed, &no_result_};
}

Operand ForwardPass::rows_from(const std::vector<std::uint16_t>& tensor, std::int64_t dim,
                               std::int64_t row) const {
  return bf16_operand(std::span(tensor).subspan(static_cast<std::size_t>(row * heads_ * dim)),
                      heads_, dim);
}

void ForwardPass::queue() {
  const Target final{{out_.data(), heads_ * kVDim, kVDim}, {lse_.data(), heads_, 1}};
  if (!md_.context) {
    queue_new_tokens(final);
  } else {
    // Flash attention widens V to the width of K, and its output keeps the wider rows.
    const std::int64_t width = md_.shape.path == Path::flash ? kQkDim : kVDim;
    states_.push_back(std::make_unique<StateBuffer>("the new tokens'", rows_, heads_, width));
    states_.push_back(std::make_unique<StateBuffer>("the context's", rows_, heads_, kVDim));
    const Target suffix = states_[0]->target();
    const Target prefix = states_[1]->target();
    queue_new_tokens(suffix);
    queue_context(prefix);
    launch("merge_attn_states", [this, prefix, suffix, final](const device::DeviceAccess&) {
      kernels_.merge(context(), {.prefix = prefix.state(),
                                 .suffix = suffix.state(),
                                 .out = final.out,
                                 .lse = final.lse,
                                 .rows = rows_,
                                 .heads = heads_});
    });
  }
  queue_collect();
}

void ForwardPass::queue_new_tokens(const Target& target) {
  if (md_.fp8) {
    queue_ps({*md_.fp8, rows_, true, target}, [this](Fp8Operands& x) {
      x.q = fp8_operand(rows_from(tensors_.q, kQkDim, 0), rows_, md_.shape, x.q_bytes);
      x.k = fp8_operand(rows_from(tensors_.k, kQkDim, 0), rows_, md_.shape, x.k_bytes);
      x.v = fp8_operand(rows_from(tensors_.v, kVDim, 0), rows_, md_.shape, x.v_bytes);
    });
    return;
  }
  launch("flash attention", [this, target](const device::DeviceAccess&) {
    kernels_.flash(context(), {.q = rows_from(tensors_.q, kQkDim, 0),
                               .k = rows_from(tensors_.k, kQkDim, 0),
                               .v = rows_from(tensors_.v, kVDim, 0),
                               .cu_seqlens_q = md_.query_start_loc,
                               .cu_seqlens_k = md_.query_start_loc,
                               .causal = md_.shape.causal,
                               .score_scale = tensors_.softmax_scale,
                               .out = target.out,
                               .lse = target.lse});
  });
}

void ForwardPass::queue_context(const Target& prefix) {
  const ContextChunks& context = *md_.context;
  std::int64_t tokens = 0;
  std::int64_t rows = 0;
  for (const ContextChunk& chunk : context.chunks) {
    tokens = std::max(tokens, chunk.tokens());
    rows = std::max(rows, chunk.rows.end - chunk.rows.begin);
  }
  tokens = std::min(tokens, md_.shape.workspace_tokens);
  context_keys_ =
      std::make_unique<GuardedBuffer<std::uint16_t>>("the gathered keys", tokens * heads_ * kQkDim);
  context_values_ = std::make_unique<GuardedBuffer<std::uint16_t>>("the gathered values",
                                                                   tokens * heads_ * kVDim);
  if (context.chunks.size() == 1 &&
      context.chunks[0].rows.end - context.chunks[0].rows.begin == rows_)
    return queue_chunk(0, prefix);  // its result is the context's
  queue_neutral(prefix);
  for (std::size_t i = 0; i < context.chunks.size(); ++i) {
    const std::int64_t chunk_rows = context.chunks[i].rows.end - context.chunks[i].rows.begin;
    states_.push_back(
        std::make_unique<StateBuffer>("a context chunk's", chunk_rows, heads_, kVDim));
    const Target partial = states_.back()->target();
    queue_chunk(i, partial);
    queue_accumulate(i, partial, prefix);
  }
}

void ForwardPass::queue_chunk(std::size_t index, const Target& target) {
  const ContextChunk& chunk = md_.context->chunks[index];
  launch("gather context", [this, &chunk](const device::DeviceAccess&) {
    kernels_.gather(context(), {.cache = tensors_.cache,
                                .chunk = chunk,
                                .table = md_.table(),
                                .block_size = md_.shape.block_size,
                                .heads = heads_,
                                .capacity = context_keys_->size() / (heads_ * kQkDim),
                                .keys = context_keys_->data(),
                                .values = context_values_->data()});
  });
  const auto keys = [this] {
    return bf16_operand({context_keys_->data(), static_cast<std::size_t>(context_keys_->size())},
                        heads_, kQkDim);
  };
  const auto values = [this] {
    return bf16_operand(
        {context_values_->data(), static_cast<std::size_t>(context_values_->size())}, heads_,
        kVDim);
  };
  if (md_.shape.path == Path::fp8_context) {
    const std::int64_t rows = chunk.rows.end - chunk.rows.begin;
    queue_ps({md_.context_plans[index].fields, rows, false, target},
             [this, &chunk, keys, values, rows](Fp8Operands& x) {
               const Operand q = rows_from(tensors_.q, kQkDim, chunk.rows.begin);
               x.q = fp8_operand(q, rows, md_.shape, x.q_bytes);
               x.k = fp8_operand(keys(), chunk.tokens(), md_.shape, x.k_bytes);
               x.v = fp8_operand(values(), chunk.tokens(), md_.shape, x.v_bytes);
             });
    return;
  }
  launch("flash attention over context",
         [this, &chunk, keys, values, target](const device::DeviceAccess&) {
           kernels_.flash(context(), {.q = rows_from(tensors_.q, kQkDim, chunk.rows.begin),
                                      .k = keys(),
                                      .v = values(),
                                      .cu_seqlens_q = chunk.query_start_loc,
                                      .cu_seqlens_k = chunk.cu_seq_lens,
                                      .causal = false,
                                      .score_scale = tensors_.softmax_scale,
                                      .out = target.out,
                                      .lse = target.lse});
         });
}

void ForwardPass::queue_accumulate(std::size_t index, const Target& partial, const Target& prefix) {
  const ContextChunk& chunk = md_.context->chunks[index];
  launch("accumulate context", [this, &chunk, partial, prefix](const device::DeviceAccess&) {
    const std::int64_t merged = chunk.continuation_end - chunk.rows.begin;
    const Target to = prefix.from_row(chunk.rows.begin);
    if (merged > 0)
      kernels_.merge(context(), {.prefix = to.state(),
                                 .suffix = partial.state(),
                                 .out = to.out,
                                 .lse = to.lse,
                                 .rows = merged,
                                 .heads = heads_});
    for (std::int64_t r = merged; r < chunk.rows.end - chunk.rows.begin; ++r)
      for (std::int64_t h = 0; h < heads_; ++h) {
        std::copy_n(partial.out.at(r, h), kVDim, to.out.at(r, h));
        *to.lse.at(r, h) = *partial.lse.at(r, h);
      }
  });
}

void ForwardPass::queue_neutral(const Target& prefix) {
  launch("neutral context", [this, prefix](const device::DeviceAccess&) {
    for (const RowRange& rows : md_.context->empty_rows)
      for (std::int64_t r = rows.begin; r < rows.end; ++r)
        for (std::int64_t h = 0; h < heads_; ++h) {
          std::fill_n(prefix.out.at(r, h), kVDim, std::uint16_t{0});
          *prefix.lse.at(r, h) = -std::numeric_limits<float>::infinity();
        }
  });
}

void ForwardPass::queue_collect() {
  launch("collect", [this](const device::DeviceAccess&) {
    const auto check = [this](const auto& buffer) {
      if (std::string damage = buffer.damaged(); !damage.empty())
        faults_.push_back({std::move(damage), -1, -1});
    };
    check(out_);
    check(lse_);
    if (context_keys_) check(*context_keys_), check(*context_values_);
    for (const auto& state : states_) check(state->out), check(state->lse);
    result_.out = out_.copy();
    result_.lse = lse_.copy();
    result_.faults = std::move(faults_);
    result_.launches = std::move(launches_);
    result_.no_result = std::move(no_result_);
  });
}

}  // namespace mla::prefill
