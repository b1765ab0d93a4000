#include "core/engine/fa/layer.hpp"

#include "core/say.hpp"

namespace mla::fa {
namespace {

Error unsupported(std::string message, std::string bug) {
  return {ErrorCode::unsupported, std::move(message), std::move(bug)};
}

Error refuse(DecodeKernel kernel, const std::string& why, std::string bug) {
  return unsupported(say(name(kernel), " ", why), std::move(bug));
}

// What a kernel lacks for the decodes that are routed to it: paged_attention_v1 gets one row a
// request and no window.
MaybeError refuse_decode(DecodeKernel kernel, const Layer& layer, bool causal,
                         std::int64_t max_query_len) {
  if (kernel == DecodeKernel::unified_attention) {
    if (causal || max_query_len <= 1) return std::nullopt;
    return refuse(kernel, "masks causally: no draft of " + num(max_query_len) + " rows without it",
                  "BUG-108");
  }
  if (layer.head_dim % kPagedHeadStep != 0)
    return refuse(kernel,
                  "writes heads in steps of 64 elements, this one has " + num(layer.head_dim),
                  "BUG-093");
  if (layer.group() > kPagedGroup)
    return refuse(kernel, "shares a KV head among 16 heads at most, not " + num(layer.group()), "");
  return std::nullopt;
}

}  // namespace

SupportedSizes supported_block_sizes() {
  return {16, 32};
}

Result<Layer> resolve_layer(const Case& c) {
  if (c.kind() != StepKind::fa)
    return unsupported(say("a case of kind ", name(c.kind()), " has no FA layer"), "");
  if (!c.dtype.both(Dtype::bf16))
    return unsupported(say("FA steps are bf16 only, not ", name(c.dtype.q), "/", name(c.dtype.kv)),
                       "");
  if (c.heads % c.fa().kv_heads != 0)
    return unsupported(
        num(c.heads) + " heads do not divide among " + num(c.fa().kv_heads) + " KV heads", "");
  if (c.fa().head_dim % 16 != 0)
    return unsupported("a head of " + num(c.fa().head_dim) + " elements is not a multiple of 16",
                       "");
  if (!supports_size(supported_block_sizes(), c.block_size))
    return unsupported("the FA cache has blocks of 16 or 32 tokens, not " + num(c.block_size),
                       "BUG-094");
  const Layer layer{.index = 0,
                    .heads = Heads(c.heads),
                    .kv_heads = Heads(c.fa().kv_heads),
                    .head_dim = c.fa().head_dim,
                    .block_size = c.block_size,
                    .window = c.fa().window};
  if (MaybeError bad = refuse_varlen(layer, c.causal)) return *bad;
  return layer;
}

std::string_view name(DecodeKernel kernel) {
  return kernel == DecodeKernel::unified_attention ? "unified_attention" : "paged_attention_v1";
}

MaybeError refuse_varlen(const Layer& layer, bool causal) {
  if (layer.window < 0 || causal) return std::nullopt;
  return unsupported("a window of " + num(layer.window) +
                         " keys is causal by definition: no "
                         "kernel has it without the mask",
                     "BUG-108");
}

Result<DecodeRoute> route_decode(const Layer& layer, bool causal, std::int64_t max_query_len) {
  DecodeRoute route;
  if (layer.window >= 0)
    route = {DecodeKernel::unified_attention, "a window of " + num(layer.window) + " keys"};
  else if (layer.head_dim < kPagedHeadStep)
    route = {DecodeKernel::unified_attention, "a head of " + num(layer.head_dim) + " elements"};
  else if (max_query_len > 1)
    route = {DecodeKernel::unified_attention, num(max_query_len) + " rows a request"};
  else
    route = {DecodeKernel::paged_attention_v1, "one row a request over the whole context"};
  if (MaybeError bad = refuse_decode(route.kernel, layer, causal, max_query_len)) return *bad;
  return route;
}

}  // namespace mla::fa
