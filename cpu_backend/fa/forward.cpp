#include "cpu_backend/fa/forward.hpp"

#include <string>

#include "core/engine/fa/decode_call.hpp"
#include "core/say.hpp"
#include "cpu_backend/fa/launch_views.hpp"
#include "cpu_backend/fa/varlen.hpp"

namespace mla::cpu {

using device::DeviceAccess;
using device::Stream;

namespace {

Status check_extend(const FaLaunch& launch) {
  const fa::ExtendPart& extend = *launch.metadata.extend;
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
Status check_launch(const FaLaunch& launch) {
  const fa::Metadata& md = launch.metadata;
  const auto causal = fa::causal_of(launch.layer, md);
  if (!causal) return causal.error();
  if (Status bad = fa::refuse_varlen(launch.layer, *causal)) return bad;
  if (md.extend)
    if (Status bad = check_extend(launch)) return bad;
  if (!md.decode) return std::nullopt;
  const auto call = fa::decode_call(launch.layer, md);
  return call ? Status() : Status(call.error());
}

void queue_cache_update(const FaLaunch& launch, Stream& stream) {
  stream.launch("update cache", [slots = launch.metadata.slot_mapping,
                                 t = &launch.tensors](const DeviceAccess& access) {
    t->count("cache update");
    update_cache({.k = t->k.view().on(access),
                  .v = t->v.view().on(access),
                  .slot_mapping = slots.on(access)},
                 t->cache_on(access), *t->faults);
  });
}

void queue_prefill(const FaLaunch& launch, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  if (!md.prefill) return;
  const Rows first = md.num_decode_tokens + md.num_extend_tokens;
  const RunViews run = views_of(launch, first, md.num_actual_tokens - first);
  const Visibility visibility{.causal = md.causal[launch.layer.index],
                              .window = launch.layer.window};
  stream.launch("attend prefills", [=, t = &launch.tensors, prefill = &*md.prefill,
                                    threads = launch.threads](const DeviceAccess& access) {
    t->count("varlen attention");
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
}

void queue_decode(const FaLaunch& launch, const fa::DecodeCall& call, Stream& stream) {
  const fa::Metadata& md = launch.metadata;
  if (!md.decode) return;
  const RunViews run = views_of(launch, Rows(0), md.num_decode_tokens);
  const auto table = block_rows(md, Requests(0), md.num_decodes);
  const auto seq_lens = md.seq_lens.subview(0, size(md.num_decodes.count()));
  stream.launch(std::string(fa::name(call.route.kernel)),
                [=, t = &launch.tensors, columns = columns_of(md), window = launch.layer.window,
                 threads = launch.threads](const DeviceAccess& access) {
                  t->count(fa::name(call.route.kernel));
                  const PagedCall paged{.q = run.q.on(access),
                                        .cache = t->cache_on(access),
                                        .blocks = {table.on(access), columns},
                                        .cu_seqlens_q = call.cu_seqlens_q.on(access),
                                        .seq_lens = seq_lens.on(access),
                                        .max_seqlen_q = call.max_seqlen_q,
                                        .window = window,
                                        .shape = t->shape,
                                        .out = run.out.on(access),
                                        .threads = threads};
                  if (call.route.kernel == fa::DecodeKernel::unified_attention)
                    unified_attention(paged, *t->faults);
                  else
                    paged_attention_v1(paged, *t->faults);
                });
}

}  // namespace

Status queue_forward(const FaLaunch& launch, Stream& stream, const StepHooks& hooks) {
  if (Status bad = check_launch(launch)) return bad;
  queue_cache_update(launch, stream);
  queue_prefill(launch, stream);
  queue_extend(launch, stream);
  if (!launch.metadata.decode) return std::nullopt;
  fa::DecodeCall call = *fa::decode_call(launch.layer, launch.metadata);
  hooks.on_fa_decode_call(launch.layer, call);
  queue_decode(launch, call, stream);
  return std::nullopt;
}

}  // namespace mla::cpu
