#include "core/engine/prefill/capability.hpp"

#include "core/say.hpp"

namespace mla::prefill {

Capability capability_of(const Platform& platform, const Model& model) {
  Capability c;
  const auto need = [&c](bool there, std::string what) {
    if (!there) c.missing.push_back(std::move(what));
  };
  need(platform.arch == "gfx950",
       "the architecture is " + platform.arch + ": the fp8 prefill kernel exists for gfx950");
  need(platform.prefill_kernel, "mla_prefill_ps_asm_fwd cannot be imported");
  need(platform.reduce_kernel, "mla_reduce_v1 cannot be imported");
  need(model.cache == Dtype::fp8,
       say("the cache is ", name(model.cache), ": a prefill in fp8 needs an fp8 cache"));
  need(model.activations == Dtype::bf16,
       say("the model computes in ", name(model.activations), ", not in bf16"));
  const std::int64_t heads = model.heads.count();
  need(heads >= 1 && heads <= kMaxHeads, say(heads, " heads: the kernel takes 1 to ", kMaxHeads));
  need(model.qk_dim == kQkDim && model.v_dim == kVDim,
       say("heads have ", model.qk_dim, " key and ", model.v_dim,
           " value elements: the kernel takes 192 and 128"));
  need(model.context_ranks == 1,
       say(model.context_ranks, " ranks share the context: the kernel returns no LSE for it"));
  return c;
}

}  // namespace mla::prefill
