// The fp8 part of a forward pass: casts, scratch, the persistent kernel, the reduce, un-padding.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/engine/prefill/forward_pass.hpp"

namespace mla::prefill {
namespace {

PlanSpans spans_of(const PlanFields& fields, const device::DeviceAccess& access) {
  const auto on_device = [&access](const char*, const Words& words) {
    return WordSpan(words.on(access));
  };
  return {lists_of(fields, on_device), fields.qo_indptr.on(access), fields.kv_indptr.on(access),
          fields.kv_indices.on(access)};
}

// One run of the kernel: its operands, its padded output if heads are padded, what it wrote.
struct PsState {
  PlanFields fields;
  PsOutput output;
  std::unique_ptr<StateBuffer> padded;
  Partials partials = Partials::left;
};

// Scratch is handed out as it is; the run starts from poison.
void take_scratch(std::span<std::byte> bytes, const ScratchLayout& layout, PsState& run) {
  auto* floats = reinterpret_cast<float*>(bytes.data());
  const std::int64_t all = layout.partial_out + layout.partial_lse + layout.final_lse;
  std::fill_n(floats, all, std::bit_cast<float>(kPoisonF32));
  run.output.partial_out = floats;
  run.output.partial_lse = floats + layout.partial_out;
  run.output.lse = {floats + layout.partial_out + layout.partial_lse, run.output.heads, 1};
}

}  // namespace

void ForwardPass::queue_ps(const PsRun& run, MakeOperands make_operands) {
  const HeadPadding padding = md_.shape.heads;
  const std::int64_t kernel_heads = padding.kernel.count();
  auto state = std::make_shared<PsState>();
  state->fields = run.fields;
  state->output.rows = run.rows;
  state->output.heads = kernel_heads;
  state->output.partial_rows = run.fields.num_partial_tiles * kTileRows;
  state->output.out = run.target.out;
  if (padding.kind != PadKind::none) {
    state->padded =
        std::make_unique<StateBuffer>("the padded heads'", run.rows, kernel_heads, kVDim);
    state->output.out = state->padded->target().out;
  }
  const ScratchLayout layout =
      scratch_layout(run.fields.num_partial_tiles, padding.kernel, Rows(run.rows));

  launch("mla_prefill_ps_asm_fwd",
         [this, state, layout, causal = run.causal,
          make_operands = std::move(make_operands)](const device::DeviceAccess& access) {
           take_scratch(scratch_.on(access), layout, *state);
           Fp8Operands x;
           make_operands(x);
           state->partials = kernels_.prefill_ps(context(),
                                                 {.plan = spans_of(state->fields, access),
                                                  .q = x.q,
                                                  .k = x.k,
                                                  .v = x.v,
                                                  .causal = causal,
                                                  .score_scale = tensors_.softmax_scale},
                                                 state->output);
         });
  if (run.fields.num_partial_tiles > 0)
    launch("mla_reduce_v1", [this, state](const device::DeviceAccess& access) {
      if (state->partials == Partials::merged) return;
      kernels_.reduce(context(), spans_of(state->fields, access), state->output);
    });
  // Heads are taken back from where the padding put them; the kernel's LSE is [rows, heads].
  launch("take back heads",
         [this, state, padding, target = run.target, rows = run.rows](const device::DeviceAccess&) {
           if (state->padded)
             if (std::string damage = state->padded->out.damaged(); !damage.empty())
               faults_.push_back({std::move(damage), -1, -1});
           for (std::int64_t r = 0; r < rows; ++r)
             for (std::int64_t h = 0; h < heads_; ++h) {
               const std::int64_t from = padding.position(h);
               *target.lse.at(r, h) = *state->output.lse.at(r, from);
               if (state->padded)
                 std::copy_n(state->output.out.at(r, from), kVDim, target.out.at(r, h));
             }
         });
}

}  // namespace mla::prefill
