#include <algorithm>
#include <bit>
#include <memory>
#include <string>

#include "core/engine/fa/forward.hpp"
#include "core/engine/fa/launch_views.hpp"
#include "core/say.hpp"

namespace mla::fa {
namespace {

using device::DeviceAccess;
using device::DeviceView;
using device::Stream;

// The states of an extend between its kernels, poisoned before they are written.
struct State {
  explicit State(std::int64_t pairs, std::int64_t dim) : out(size(pairs * dim)), lse(size(pairs)) {
    poison();
  }
  void poison() {
    std::fill(out.begin(), out.end(), kPoisonBf16);
    std::fill(lse.begin(), lse.end(), std::bit_cast<float>(kPoisonF32));
  }
  [[nodiscard]] StateView view() const { return {out, lse}; }
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
};

struct ExtendScratch {
  explicit ExtendScratch(std::int64_t pairs, std::int64_t dim)
      : fresh(pairs, dim), chunk(pairs, dim), context(pairs, dim) {}
  State fresh;    // over the new tokens
  State chunk;    // over the chunk at hand
  State context;  // over all chunks so far
};

// The context of one chunk, or of the windows, copied out of the paged cache.
struct GatherViews {
  DeviceView<std::int32_t> block_table, cu_seq_lens, seq_starts, token_to_batch;
  std::int64_t total_tokens = 0;
  DeviceView<std::uint16_t> workspace;
};
void queue_gather(const LayerLaunch& launch, const GatherViews& g, const std::string& what,
                  Stream& stream) {
  const std::int64_t columns = columns_of(launch.metadata);
  stream.launch("gather " + what, [g, columns, t = &launch.tensors, kernels = &launch.kernels,
                                   threads = launch.threads](const DeviceAccess& access) {
    kernels->gather_cache(t->context(threads), {.cache = t->cache_on(access),
                                                .blocks = {g.block_table.on(access), columns},
                                                .cu_seq_lens = g.cu_seq_lens.on(access),
                                                .seq_starts = g.seq_starts.on(access),
                                                .token_to_batch = g.token_to_batch.on(access),
                                                .total_tokens = g.total_tokens,
                                                .workspace = g.workspace.on(access)});
  });
}

void queue_windowed_extend(const LayerLaunch& launch, const RunViews& run, Stream& stream) {
  const Metadata& md = launch.metadata;
  const auto& swa = md.extend->chunk_context.swa_metadata;
  queue_gather(launch,
               {.block_table = block_rows(md, md.num_decodes, md.num_extends),
                .cu_seq_lens = swa->swa_cu_seqlens.view(),
                .seq_starts = swa->swa_seq_starts.view(),
                .token_to_batch = swa->swa_token_to_batch.view(),
                .total_tokens = swa->swa_total_tokens,
                .workspace = swa->swa_workspace.view()},
               "windows", stream);
  stream.launch("attend windows", [=, t = &launch.tensors, kernels = &launch.kernels, swa = &*swa,
                                   extend = &*md.extend, window = launch.layer.window,
                                   threads = launch.threads](const DeviceAccess& access) {
    const auto workspace = swa->swa_workspace.view().on(access);
    const std::size_t plane = workspace.size() / 2;
    kernels->varlen_attention(t->context(threads),
                              {.what = "extend, windows",
                               .q = run.q.on(access),
                               .k = workspace.first(plane),
                               .v = workspace.last(plane),
                               .cu_seqlens_q = extend->query_start_loc.view().on(access),
                               .cu_seqlens_k = swa->swa_cu_seqlens.view().on(access),
                               .max_seqlen_q = extend->max_query_len,
                               .max_seqlen_k = swa->swa_max_seqlens,
                               .visibility = {.causal = true, .window = window},
                               .shape = t->shape,
                               .out = run.out.on(access),
                               .lse = {}});
  });
}

// Gathers chunk c, attends it, and merges it with the chunks before it.
void queue_chunk(const LayerLaunch& launch, const RunViews& run, std::int64_t c,
                 const std::shared_ptr<ExtendScratch>& scratch, Stream& stream) {
  const Metadata& md = launch.metadata;
  const ChunkContext& ctx = md.extend->chunk_context;
  const std::size_t extends = size(md.num_extends.count());
  const std::size_t columns = ctx.token_to_batch.size() / size(ctx.num_chunks);
  const auto cu = ctx.cu_seq_lens_chunk.view().subview(size(c) * (extends + 1), extends + 1);
  const std::string name = say("chunk ", c);
  queue_gather(launch,
               {.block_table = block_rows(md, md.num_decodes, md.num_extends),
                .cu_seq_lens = cu,
                .seq_starts = ctx.chunk_starts.view().subview(size(c) * extends, extends),
                .token_to_batch = ctx.token_to_batch.view().subview(size(c) * columns, columns),
                .total_tokens = ctx.total_token_per_batch[size(c)],
                .workspace = ctx.workspace},
               name, stream);
  stream.launch(
      "attend " + name, [=, t = &launch.tensors, kernels = &launch.kernels, extend = &*md.extend,
                         workspace = ctx.workspace, longest = ctx.max_seq_lens[size(c)],
                         threads = launch.threads](const DeviceAccess& access) {
        const auto space = workspace.on(access);
        const std::size_t plane = space.size() / 2;
        scratch->chunk.poison();
        kernels->varlen_attention(t->context(threads),
                                  {.what = "extend, context",
                                   .q = run.q.on(access),
                                   .k = space.first(plane),
                                   .v = space.last(plane),
                                   .cu_seqlens_q = extend->query_start_loc.view().on(access),
                                   .cu_seqlens_k = cu.on(access),
                                   .max_seqlen_q = extend->max_query_len,
                                   .max_seqlen_k = longest,
                                   .visibility = {.causal = false, .window = -1},
                                   .shape = t->shape,
                                   .out = scratch->chunk.out,
                                   .lse = scratch->chunk.lse});
      });
  stream.launch("merge " + name, [c, scratch, t = &launch.tensors, kernels = &launch.kernels,
                                  threads = launch.threads](const DeviceAccess&) {
    if (c == 0) {
      scratch->context = scratch->chunk;
    } else {
      kernels->merge_states(t->context(threads), {.a = scratch->context.view(),
                                                  .b = scratch->chunk.view(),
                                                  .shape = t->shape,
                                                  .out = scratch->context.out,
                                                  .lse = scratch->context.lse});
    }
  });
}

void queue_fresh_tokens(const LayerLaunch& launch, const RunViews& run,
                        const std::shared_ptr<ExtendScratch>& scratch, Stream& stream) {
  stream.launch(
      "attend new tokens of extends",
      [=, t = &launch.tensors, kernels = &launch.kernels, extend = &*launch.metadata.extend,
       causal = static_cast<bool>(launch.metadata.causal[launch.layer.index]),
       threads = launch.threads](const DeviceAccess& access) {
        const auto cu = extend->query_start_loc.view().on(access);
        kernels->varlen_attention(t->context(threads),
                                  {.what = "extend, new tokens",
                                   .q = run.q.on(access),
                                   .k = run.k.on(access),
                                   .v = run.v.on(access),
                                   .cu_seqlens_q = cu,
                                   .cu_seqlens_k = cu,
                                   .max_seqlen_q = extend->max_query_len,
                                   .max_seqlen_k = extend->max_query_len,
                                   .visibility = {.causal = causal, .window = -1},
                                   .shape = t->shape,
                                   .out = scratch->fresh.out,
                                   .lse = scratch->fresh.lse});
      });
}

}  // namespace

void queue_extend(const LayerLaunch& launch, Stream& stream) {
  const Metadata& md = launch.metadata;
  if (!md.extend) return;
  const RunViews run = views_of(launch, md.num_decode_tokens, md.num_extend_tokens);
  if (launch.layer.window >= 0) return queue_windowed_extend(launch, run, stream);
  const TensorShape& shape = launch.tensors.shape;
  const auto scratch =
      std::make_shared<ExtendScratch>(md.num_extend_tokens.count() * shape.heads, shape.head_dim);
  queue_fresh_tokens(launch, run, scratch, stream);
  const std::int64_t chunks = md.extend->chunk_context.num_chunks;
  for (std::int64_t c = 0; c < chunks; ++c) queue_chunk(launch, run, c, scratch, stream);
  stream.launch("merge extends", [=, out = run.out, t = &launch.tensors, kernels = &launch.kernels,
                                  threads = launch.threads](const DeviceAccess& a) {
    const auto to = out.on(a);
    if (chunks == 0) {
      std::copy(scratch->fresh.out.begin(), scratch->fresh.out.end(), to.begin());
    } else {
      kernels->merge_states(t->context(threads), {.a = scratch->context.view(),
                                                  .b = scratch->fresh.view(),
                                                  .shape = t->shape,
                                                  .out = to,
                                                  .lse = {}});
    }
  });
}

}  // namespace mla::fa
