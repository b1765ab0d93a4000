#include "core/engine/fa/forward.hpp"

#include <string>

#include "core/engine/fa/decode_call.hpp"
#include "core/engine/fa/launch_views.hpp"
#include "core/say.hpp"

namespace mla::fa {

using device::DeviceAccess;
using device::Stream;

namespace {

MaybeError check_extend(const LayerLaunch& launch) {
  const ExtendPart& extend = *launch.metadata.extend;
  const std::int64_t room = columns_of(launch.metadata) * launch.layer.block_size;
  if (extend.max_seq_len > room)
    return Error{ErrorCode::overrun,
                 say("an extend of ", extend.max_seq_len, " keys does not fit block table rows of ",
                     room, " tokens")};
  if (launch.layer.window >= 0 && !extend.chunk_context.swa_metadata)
    return Error{ErrorCode::refused, say("a layer with a window of ", launch.layer.window,
                                         " keys meets metadata without a window part")};
  return std::nullopt;
}

// What stands against the launch; nothing if every part of it can be queued.
MaybeError check_launch(const LayerLaunch& launch) {
  const Metadata& md = launch.metadata;
  const auto causal = causal_of(launch.layer, md);
  if (!causal) return causal.error();
  if (MaybeError bad = refuse_varlen(launch.layer, *causal)) return bad;
  if (md.extend)
    if (MaybeError bad = check_extend(launch)) return bad;
  if (!md.decode) return std::nullopt;
  const auto call = decode_call(launch.layer, md);
  return call ? MaybeError() : MaybeError(call.error());
}

void queue_cache_update(const LayerLaunch& launch, Stream& stream) {
  stream.launch("update cache",
                [slots = launch.metadata.slot_mapping, t = &launch.tensors,
                 kernels = &launch.kernels, threads = launch.threads](const DeviceAccess& access) {
                  kernels->update_cache(t->context(threads), {.k = t->k.view().on(access),
                                                              .v = t->v.view().on(access),
                                                              .slot_mapping = slots.on(access),
                                                              .cache = t->cache_on(access)});
                });
}

void queue_prefill(const LayerLaunch& launch, Stream& stream) {
  const Metadata& md = launch.metadata;
  if (!md.prefill) return;
  const Rows first = md.num_decode_tokens + md.num_extend_tokens;
  const RunViews run = views_of(launch, first, md.num_actual_tokens - first);
  const Visibility visibility{.causal = md.causal[launch.layer.index],
                              .window = launch.layer.window};
  stream.launch(
      "attend prefills", [=, t = &launch.tensors, kernels = &launch.kernels, prefill = &*md.prefill,
                          threads = launch.threads](const DeviceAccess& access) {
        const auto cu = prefill->query_start_loc.view().on(access);
        kernels->varlen_attention(t->context(threads), {.what = "prefill",
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
                                                        .lse = {}});
      });
}

void queue_decode(const LayerLaunch& launch, const DecodeCall& call, Stream& stream) {
  const Metadata& md = launch.metadata;
  if (!md.decode) return;
  const RunViews run = views_of(launch, Rows(0), md.num_decode_tokens);
  const auto table = block_rows(md, Requests(0), md.num_decodes);
  const auto seq_lens = md.seq_lens.subview(0, size(md.num_decodes.count()));
  const auto& attend = call.route.kernel == DecodeKernel::unified_attention
                           ? launch.kernels.unified_attention
                           : launch.kernels.paged_attention_v1;
  stream.launch(
      std::string(name(call.route.kernel)),
      [=, t = &launch.tensors, attend = &attend, columns = columns_of(md),
       window = launch.layer.window, threads = launch.threads](const DeviceAccess& access) {
        (*attend)(t->context(threads), {.q = run.q.on(access),
                                        .cache = t->cache_on(access),
                                        .blocks = {table.on(access), columns},
                                        .cu_seqlens_q = call.cu_seqlens_q.on(access),
                                        .seq_lens = seq_lens.on(access),
                                        .max_seqlen_q = call.max_seqlen_q,
                                        .window = window,
                                        .shape = t->shape,
                                        .out = run.out.on(access)});
      });
}

}  // namespace

MaybeError queue_forward(const LayerLaunch& launch, Stream& stream, const Hooks& hooks) {
  if (MaybeError bad = check_launch(launch)) return bad;
  queue_cache_update(launch, stream);
  queue_prefill(launch, stream);
  queue_extend(launch, stream);
  if (!launch.metadata.decode) return std::nullopt;
  DecodeCall call = *decode_call(launch.layer, launch.metadata);
  hooks.on_fa_decode_call(launch.layer, call);
  queue_decode(launch, call, stream);
  return std::nullopt;
}

}  // namespace mla::fa
