#include "cpu_backend/fa/forward.hpp"

#include <string>

#include "cpu_backend/fa/varlen.hpp"

namespace mla::cpu {
namespace {

using device::DeviceAccess;
using device::DeviceView;
using device::Stream;

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

// Rows [first, first + count) of a tensor whose rows have `row` elements.
DeviceView<std::uint16_t> rows_of(DeviceView<std::uint16_t> tensor, Rows first, Rows count,
                                  std::int64_t row) {
  return tensor.subview(size(first.count() * row), size(count.count() * row));
}

Result<bool> causal_flag(const fa::Layer& layer, const fa::Metadata& md) {
  if (layer.index < md.causal.size()) return static_cast<bool>(md.causal[layer.index]);
  return Error{ErrorCode::refused,
               "layer " + std::to_string(layer.index) + " has no causal flag among " +
                   std::to_string(md.causal.size()),
               "BUG-109"};
}

std::int64_t columns_of(const fa::Metadata& md) {
  const std::int64_t requests = md.requests().count();
  return requests == 0 ? 0 : static_cast<std::int64_t>(md.block_table.size()) / requests;
}

DeviceView<std::int32_t> block_rows(const fa::Metadata& md, Requests first, Requests count) {
  const std::int64_t columns = columns_of(md);
  return md.block_table.subview(size(first.count() * columns), size(count.count() * columns));
}

// The views of one run of rows.
struct RunViews {
  DeviceView<std::uint16_t> q, k, v, out;
};
RunViews views_of(const FaLaunch& launch, Rows first, Rows count) {
  const FaDeviceTensors& t = launch.tensors;
  return {.q = rows_of(t.q.view(), first, count, t.shape.q_row()),
          .k = rows_of(t.k.view(), first, count, t.shape.kv_row()),
          .v = rows_of(t.v.view(), first, count, t.shape.kv_row()),
          .out = rows_of(t.out(), first, count, t.shape.q_row())};
}

// The states of an extend between its kernels, poisoned before they are written.
struct State {
  explicit State(std::int64_t pairs, std::int64_t dim)
      : out(size(pairs * dim), kPoisonBf16), lse(size(pairs), std::bit_cast<float>(kPoisonF32)) {}
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
  [[nodiscard]] StateView view() const { return {out, lse}; }
};

struct ExtendScratch {
  explicit ExtendScratch(std::int64_t pairs, std::int64_t dim)
      : fresh(pairs, dim), chunk(pairs, dim), context(pairs, dim) {}
  State fresh;    // over the new tokens
  State chunk;    // over the chunk at hand
  State context;  // over all chunks so far
};

Status check_table(const FaLaunch& launch, std::int64_t keys) {
  const std::int64_t room = columns_of(launch.metadata) * launch.layer.block_size;
  if (keys <= room) return std::nullopt;
  return Error{ErrorCode::overrun,
               "a request of " + std::to_string(keys) + " keys does not fit block table rows of " +
                   std::to_string(room) + " tokens",
               ""};
}

// The context of one chunk, or of the windows, copied out of the paged cache.
struct GatherViews {
  DeviceView<std::int32_t> block_table, cu_seq_lens, seq_starts, token_to_batch;
  std::int64_t total_tokens = 0;
  DeviceView<std::uint16_t> workspace;
};
void queue_gather(const FaLaunch& launch, const GatherViews& g, const std::string& what,
                  Stream& stream) {
  const std::int64_t columns = columns_of(launch.metadata);
  stream.launch("gather " + what, [g, columns, t = &launch.tensors](const DeviceAccess& access) {
    gather_cache({.cache = t->cache_on(access),
                  .blocks = {g.block_table.on(access), columns},
                  .cu_seq_lens = g.cu_seq_lens.on(access),
                  .seq_starts = g.seq_starts.on(access),
                  .token_to_batch = g.token_to_batch.on(access),
                  .total_tokens = g.total_tokens,
                  .workspace = g.workspace.on(access)},
                 *t->faults);
  });
}

Status queue_windowed_extend(const FaLaunch& launch, const RunViews& run, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  const auto& swa = md.extend->chunk_context.swa_metadata;
  if (!swa)
    return Error{ErrorCode::refused,
                 "a layer with a window of " + std::to_string(launch.layer.window) +
                     " keys meets metadata without a window part",
                 ""};
  queue_gather(launch,
               {.block_table = block_rows(md, md.num_decodes, md.num_extends),
                .cu_seq_lens = swa->swa_cu_seqlens.view(),
                .seq_starts = swa->swa_seq_starts.view(),
                .token_to_batch = swa->swa_token_to_batch.view(),
                .total_tokens = swa->swa_total_tokens,
                .workspace = swa->swa_workspace.view()},
               "windows", stream);
  stream.launch("attend windows", [=, t = &launch.tensors, swa = &*swa, extend = &*md.extend,
                                   window = launch.layer.window,
                                   threads = launch.threads](const DeviceAccess& access) {
    const auto workspace = swa->swa_workspace.view().on(access);
    const std::size_t plane = workspace.size() / 2;
    varlen_attention({.what = "extend, windows",
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
                      .lse = {},
                      .threads = threads},
                     *t->faults);
  });
  return std::nullopt;
}

// Gathers chunk c, attends it, and merges it with the chunks before it.
void queue_chunk(const FaLaunch& launch, const RunViews& run, std::int64_t c,
                 const std::shared_ptr<ExtendScratch>& scratch, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  const fa::ChunkContext& ctx = md.extend->chunk_context;
  const std::size_t extends = size(md.num_extends.count());
  const std::size_t columns = ctx.token_to_batch.size() / size(ctx.num_chunks);
  const auto cu = ctx.cu_seq_lens_chunk.view().subview(size(c) * (extends + 1), extends + 1);
  const std::string name = "chunk " + std::to_string(c);
  queue_gather(launch,
               {.block_table = block_rows(md, md.num_decodes, md.num_extends),
                .cu_seq_lens = cu,
                .seq_starts = ctx.chunk_starts.view().subview(size(c) * extends, extends),
                .token_to_batch = ctx.token_to_batch.view().subview(size(c) * columns, columns),
                .total_tokens = ctx.total_token_per_batch[size(c)],
                .workspace = ctx.workspace},
               name, stream);
  stream.launch("attend " + name, [=, t = &launch.tensors, extend = &*md.extend,
                                   workspace = ctx.workspace, longest = ctx.max_seq_lens[size(c)],
                                   threads = launch.threads](const DeviceAccess& access) {
    const auto space = workspace.on(access);
    const std::size_t plane = space.size() / 2;
    varlen_attention({.what = "extend, context",
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
                      .lse = scratch->chunk.lse,
                      .threads = threads},
                     *t->faults);
  });
  stream.launch("merge " + name, [c, scratch, t = &launch.tensors](const DeviceAccess&) {
    if (c == 0)
      scratch->context = scratch->chunk;
    else
      merge_states(scratch->context.view(), scratch->chunk.view(), t->shape, scratch->context.out,
                   scratch->context.lse);
  });
}

void queue_fresh_tokens(const FaLaunch& launch, const RunViews& run, bool causal,
                        const std::shared_ptr<ExtendScratch>& scratch, Stream& stream) {
  stream.launch("attend new tokens of extends",
                [=, t = &launch.tensors, extend = &*launch.metadata.extend,
                 threads = launch.threads](const DeviceAccess& access) {
                  const auto cu = extend->query_start_loc.view().on(access);
                  varlen_attention({.what = "extend, new tokens",
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
                                    .lse = scratch->fresh.lse,
                                    .threads = threads},
                                   *t->faults);
                });
}

}  // namespace

Result<FaDecodeCall> decode_call(const fa::Layer& layer, const fa::Metadata& md) {
  const auto causal = causal_flag(layer, md);
  if (!causal) return causal.error();
  const std::int64_t rows = md.decode ? md.decode->max_query_len : 0;
  auto route = fa::route_decode(layer, *causal, rows);
  if (!route) return route.error();
  return FaDecodeCall{
      .route = std::move(*route),
      .cu_seqlens_q = md.query_start_loc.subview(0, size(md.num_decodes.count()) + 1),
      .max_seqlen_q = rows,
      .causal = *causal};
}

void queue_cache_update(const FaLaunch& launch, Stream& stream) {
  stream.launch("update cache", [slots = launch.metadata.slot_mapping,
                                 t = &launch.tensors](const DeviceAccess& access) {
    update_cache({.k = t->k.view().on(access),
                  .v = t->v.view().on(access),
                  .slot_mapping = slots.on(access)},
                 t->cache_on(access), *t->faults);
  });
}

Status queue_prefill(const FaLaunch& launch, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  if (!md.prefill) return std::nullopt;
  const auto causal = causal_flag(launch.layer, md);
  if (!causal) return causal.error();
  if (Status bad = fa::refuse_varlen(launch.layer, *causal)) return bad;
  const Rows first = md.num_decode_tokens + md.num_extend_tokens;
  const RunViews run = views_of(launch, first, md.num_actual_tokens - first);
  const Visibility visibility{.causal = *causal, .window = launch.layer.window};
  stream.launch("attend prefills", [=, t = &launch.tensors, prefill = &*md.prefill,
                                    threads = launch.threads](const DeviceAccess& access) {
    const auto cu = prefill->query_start_loc.view().on(access);
    varlen_attention({.what = "prefill",
                      .q = run.q.on(access),
                      .k = run.k.on(access),
                      .v = run.v.on(access),
                      .cu_seqlens_q = cu,
                      .cu_seqlens_k = cu,
                      .max_seqlen_q = prefill->max_query_len,
                      .max_seqlen_k = prefill->max_seq_len,
                      .visibility = visibility,
                      .shape = t->shape,
                      .out = run.out.on(access),
                      .lse = {},
                      .threads = threads},
                     *t->faults);
  });
  return std::nullopt;
}

Status queue_extend(const FaLaunch& launch, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  if (!md.extend) return std::nullopt;
  const auto causal = causal_flag(launch.layer, md);
  if (!causal) return causal.error();
  if (Status bad = fa::refuse_varlen(launch.layer, *causal)) return bad;
  if (Status bad = check_table(launch, md.extend->max_seq_len)) return bad;
  const RunViews run = views_of(launch, md.num_decode_tokens, md.num_extend_tokens);
  if (launch.layer.window >= 0) return queue_windowed_extend(launch, run, stream);
  const FaShape& shape = launch.tensors.shape;
  const auto scratch =
      std::make_shared<ExtendScratch>(md.num_extend_tokens.count() * shape.heads, shape.head_dim);
  queue_fresh_tokens(launch, run, *causal, scratch, stream);
  const std::int64_t chunks = md.extend->chunk_context.num_chunks;
  for (std::int64_t c = 0; c < chunks; ++c) queue_chunk(launch, run, c, scratch, stream);
  stream.launch("merge extends", [=, out = run.out, t = &launch.tensors](const DeviceAccess& a) {
    const auto to = out.on(a);
    if (chunks == 0)
      std::copy(scratch->fresh.out.begin(), scratch->fresh.out.end(), to.begin());
    else
      merge_states(scratch->context.view(), scratch->fresh.view(), t->shape, to, {});
  });
  return std::nullopt;
}

void queue_decode(const FaLaunch& launch, const FaDecodeCall& call, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  if (!md.decode) return;
  const RunViews run = views_of(launch, Rows(0), md.num_decode_tokens);
  const auto table = block_rows(md, Requests(0), md.num_decodes);
  const auto seq_lens = md.seq_lens.subview(0, size(md.num_decodes.count()));
  stream.launch(
      std::string(fa::name(call.route.kernel)),
      [=, t = &launch.tensors, columns = columns_of(md), window = launch.layer.window,
       threads = launch.threads](const DeviceAccess& access) {
        const PagedCall paged{
            .q = run.q.on(access),
            .cache = t->cache_on(access),
            .blocks = {table.on(access), columns},
            .cu_seqlens_q = call.cu_seqlens_q.on(access),
            .seq_lens = seq_lens.on(access),
            .max_seqlen_q = call.max_seqlen_q,
            .visibility = {.causal = call.causal || call.max_seqlen_q <= 1, .window = window},
            .shape = t->shape,
            .out = run.out.on(access),
            .threads = threads};
        if (call.route.kernel == fa::DecodeKernel::unified_attention)
          unified_attention(paged, *t->faults);
        else
          paged_attention_v1(paged, *t->faults);
      });
}

Status queue_forward(const FaLaunch& launch, Stream& stream) {
  queue_cache_update(launch, stream);
  if (Status bad = queue_prefill(launch, stream)) return bad;
  if (Status bad = queue_extend(launch, stream)) return bad;
  if (!launch.metadata.decode) return std::nullopt;
  const auto call = decode_call(launch.layer, launch.metadata);
  if (!call) return call.error();
  queue_decode(launch, *call, stream);
  return std::nullopt;
}

}  // namespace mla::cpu
