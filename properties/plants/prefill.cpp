// Prefill: capability, planner, staging, scratch, kernels and merges of a prefill step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/engine/prefill/kernels.hpp"
#include "core/engine/prefill/prefill_builder.hpp"
#include "core/numeric/bf16.hpp"
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

using namespace prefill;

class CacheDtypeIgnored final : public Interposer {
  void on_model(Model& model) const override { model.cache = Dtype::fp8; }
};

class SixteenHeadsOnly final : public Interposer {
  void on_capability(const Model& model, Capability& capability) const override {
    if (model.heads.count() % 16 != 0)
      capability.missing.emplace_back("heads are not a multiple of 16");
  }
};

class SilentFallback final : public Interposer {
  void on_prefill_shape(PrefillShape& shape) const override { shape.fallback.clear(); }
};

// Only the first request is planned.
class OneSegmentPlan final : public Interposer {
  void on_prefill_plan(plan::PsInput& input) const override {
    input.qo_indptr = input.qo_indptr.first(2);
    input.kv_indptr = input.kv_indptr.first(2);
    input.context_lens = input.context_lens.first(1);
  }
};

class PlanForFewerHeads final : public Interposer {
  void on_prefill_plan(plan::PsInput& input) const override {
    input.kv_heads = Heads(input.kv_heads.count() - 4);
  }
};

// Copies that no stream orders: the plan of the next step replaces one that kernels still wait for.
class BlockingPlanCopies final : public Interposer {
  void on_staging(StagePlan& stage) const override {
    stage = [](const HostPlan& plan, PrefillBuffers& buffers, const Device& device) {
      device::Stream blocking(device.ledger);
      auto fields = copy_plan(plan, buffers.plan, buffers.identity.view(), blocking);
      blocking.advance();
      return fields;
    };
  }
};

class OneStagingPlace final : public Interposer {
  void on_staging(StagePlan& stage) const override {
    stage = [](const HostPlan& plan, PrefillBuffers& buffers, const Device& device) {
      HostPlan& place = buffers.staging.place(0);
      PlanStaging::write(plan, buffers.plan, place);
      return copy_plan(place, buffers.plan, buffers.identity.view(), device.stream);
    };
  }
};

// The number of partial tiles is that of some other batch, one without a cut.
class NoPartialTiles final : public Interposer {
  void on_staging(StagePlan& stage) const override {
    stage = [](const HostPlan& plan, PrefillBuffers& buffers, const Device& device) {
      HostPlan uncut = plan;
      uncut.num_partial_tiles = 0;
      return prefill::stage_plan(uncut, buffers, device);
    };
  }
};

class NothingReserved final : public Interposer {
  void on_reserve(EngineConfig& config) const override { config.fp8 = false; }
};

class EveryRequestIsLongest final : public Interposer {
  void on_reserve(EngineConfig& config) const override { config.bound = ScratchBound::size_query; }
};

class NoLseOfWholeTiles final : public Interposer {
  void on_kernels(Kernels& kernels) const override {
    kernels.prefill_ps = [run = kernels.prefill_ps](const KernelContext& context,
                                                    const PsLaunch& launch, PsOutput& output) {
      const auto pairs = static_cast<std::size_t>(output.rows * output.heads);
      const std::vector<float> before(output.lse.data, output.lse.data + pairs);
      const Partials partials = run(context, launch, output);
      std::copy(before.begin(), before.end(), output.lse.data);
      return partials;
    };
  }
};

// What a varlen kernel leaves for a request without keys.
enum class Leaves : std::uint8_t { zero, plus_infinity, nothing };

template <Leaves kLeaves>
void flash_without_keys(const decltype(Kernels::flash)& run, const KernelContext& context,
                        const FlashLaunch& launch) {
  struct Row {
    std::int64_t row, head;
    std::vector<std::uint16_t> out;
    float lse;
  };
  std::vector<Row> rows;
  for (std::size_t r = 0; r + 1 < launch.cu_seqlens_q.size(); ++r) {
    if (launch.cu_seqlens_k[r + 1] > launch.cu_seqlens_k[r]) continue;
    for (std::int64_t row = launch.cu_seqlens_q[r]; row < launch.cu_seqlens_q[r + 1]; ++row)
      for (std::int64_t h = 0; h < launch.q.heads; ++h) {
        const std::uint16_t* out = launch.out.at(row, h);
        rows.push_back({row, h, {out, out + kVDim}, *launch.lse.at(row, h)});
      }
  }
  run(context, launch);
  for (const Row& r : rows) {
    if (kLeaves == Leaves::nothing)
      std::copy(r.out.begin(), r.out.end(), launch.out.at(r.row, r.head));
    float lse = r.lse;
    if (kLeaves == Leaves::zero) lse = 0;
    if (kLeaves == Leaves::plus_infinity) lse = std::numeric_limits<float>::infinity();
    *launch.lse.at(r.row, r.head) = lse;
  }
}

template <Leaves kLeaves>
class EmptyContext final : public Interposer {
  void on_kernels(Kernels& kernels) const override {
    if (!kernels.flash) return;
    kernels.flash = [run = kernels.flash](const KernelContext& context, const FlashLaunch& launch) {
      flash_without_keys<kLeaves>(run, context, launch);
    };
  }
};

// Values of keys after a row are multiplied by a probability of 0.
void spread_nan(const FlashLaunch& launch) {
  const auto* const values = reinterpret_cast<const std::uint16_t*>(launch.v.data);
  for (std::size_t r = 0; r + 1 < launch.cu_seqlens_k.size(); ++r)
    for (std::int64_t i = launch.cu_seqlens_k[r] * launch.v.heads * kVDim;
         i < launch.cu_seqlens_k[r + 1] * launch.v.heads * kVDim; ++i) {
      if (!std::isnan(bf16_to_float(values[i]))) continue;
      for (std::int64_t row = launch.cu_seqlens_q[r]; row < launch.cu_seqlens_q[r + 1]; ++row)
        launch.out.at(row, i / kVDim % launch.v.heads)[i % kVDim] = values[i];
    }
}

class PrefillZeroTimesNan final : public Interposer {
  void on_kernels(Kernels& kernels) const override {
    if (!kernels.flash) return;
    kernels.flash = [run = kernels.flash](const KernelContext& context, const FlashLaunch& launch) {
      run(context, launch);
      if (launch.causal && launch.v.dtype == Dtype::bf16) spread_nan(launch);
    };
  }
};

class PrefixStridesForBoth final : public Interposer {
  void on_kernels(Kernels& kernels) const override {
    kernels.merge = [run = kernels.merge](const KernelContext& context, const MergeLaunch& launch) {
      MergeLaunch assumed = launch;
      assumed.suffix.out.row_stride = launch.prefix.out.row_stride;
      assumed.suffix.out.head_stride = launch.prefix.out.head_stride;
      run(context, assumed);
    };
  }
};

class EvenChunks final : public Interposer {
  void on_chunk_rule(ChunkRule& rule) const override { rule = ChunkRule::even; }
};

// A later piece of a context is not gathered: the workspace still holds the first one.
class ReusedGather final : public Interposer {
  void on_kernels(Kernels& kernels) const override {
    kernels.gather = [run = kernels.gather](const KernelContext& context,
                                            const GatherLaunch& launch) {
      if (launch.chunk.starts.front() == 0) run(context, launch);
    };
  }
};

// The first keys of a context are taken for those of its later pieces.
class ChunkStartsIgnored final : public Interposer {
  void on_kernels(Kernels& kernels) const override {
    kernels.gather = [run = kernels.gather](const KernelContext& context,
                                            const GatherLaunch& launch) {
      ContextChunk chunk = launch.chunk;
      std::fill(chunk.starts.begin(), chunk.starts.end(), 0);
      const GatherLaunch first{launch.cache, chunk,           launch.table, launch.block_size,
                               launch.heads, launch.capacity, launch.keys,  launch.values};
      run(context, first);
    };
  }
};

constexpr Plant kPrefillPlants[] = {
    {"BUG-096-prefill", "P15", "The fp8 prefill is taken for a bf16 cache.",
     "mla1:1q5s5;heads=1;arch=gfx950;kind=prefill", plant_of<CacheDtypeIgnored>},
    {"BUG-097", "P14", "Head counts that are not a multiple of 16 fall back to bf16.",
     "mla1:1q5s5;heads=12;arch=gfx950;dtype=bf16/fp8;kind=prefill", plant_of<SixteenHeadsOnly>},
    {"SEED-silent-fallback", "P15", "A step that leaves the fp8 path does not say why.",
     "mla1:1q1s1;heads=1;kind=prefill", plant_of<SilentFallback>},
    {"BUG-098", "P05", "The prefill plan is built for the first of several requests.",
     "mla1:2q1s1;heads=1;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill", plant_of<OneSegmentPlan>},
    {"SEED-prefill-heads", "P14", "The prefill plan is made for fewer heads than the kernel gets.",
     "mla1:1q1s1;heads=12;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill",
     plant_of<PlanForFewerHeads>},
    {"SEED-partial-tiles", "P05", "The number of partial tiles is not that of this step's plan.",
     "mla1:1q129s129;arch=gfx950;dtype=bf16/fp8;cu=256;kind=prefill", plant_of<NoPartialTiles>},
    {"BUG-082", "P20", "The next step's prefill plan is copied without a stream.",
     "mla1:1q9s9;heads=1;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill",
     plant_of<BlockingPlanCopies>},
    {"SEED-one-staging-place", "P20", "One staging place is rewritten while copies are queued.",
     "mla1:1q9s9;heads=1;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill", plant_of<OneStagingPlace>},
    {"BUG-089", "P22", "Scratch is first asked for when the workspace is locked.",
     "mla1:1q1s1;heads=1;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill", plant_of<NothingReserved>},
    {"BUG-064", "P23", "Scratch is reserved as if every request had all rows.",
     "mla1:1q1s1;heads=1;arch=gfx950;dtype=bf16/fp8;cu=32;kind=prefill",
     plant_of<EveryRequestIsLongest>},
    {"BUG-072", "P24", "Tiles that are written directly get no LSE.",
     "mla1:1q1s1;heads=1;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill",
     plant_of<NoLseOfWholeTiles>},
    {"BUG-099", "P25", "A context chunk without keys has the LSE 0.",
     "mla1:1q1s2_1q1s40;heads=1;kind=prefill", plant_of<EmptyContext<Leaves::zero>>},
    {"BUG-100", "P25", "A context chunk without keys has the LSE +inf.",
     "mla1:1q1s2_1q1s40;heads=1;kind=prefill", plant_of<EmptyContext<Leaves::plus_infinity>>},
    {"BUG-101", "P25", "A request whose context is exhausted keeps what lay in the output.",
     "mla1:1q1s2_1q1s40;heads=1;kind=prefill", plant_of<EmptyContext<Leaves::nothing>>},
    {"BUG-102", "P25", "A merge reads the suffix with the strides of the prefix.",
     "mla1:1q1s2;heads=2;kind=prefill", plant_of<PrefixStridesForBoth>},
    {"BUG-104", "P25", "The workspace is divided evenly over requests with context.",
     "mla1:1q1s51_3q1s2;heads=1;kind=prefill;workspace=64", plant_of<EvenChunks>},
    {"BUG-111", "P25", "A later piece of a context reuses what was gathered for the first.",
     "mla1:1q1s40;heads=1;kind=prefill;workspace=16", plant_of<ReusedGather>},
    {"BUG-095", "P25", "Later pieces of a context read the slots of the first.",
     "mla1:1q1s40;heads=1;kind=prefill;workspace=16", plant_of<ChunkStartsIgnored>},
    {"SEED-prefill-zero-times-nan", "P37",
     "A NaN in the value of a key that a row must not see reaches its output.",
     "mla1:1q5s5;heads=1;kind=prefill", plant_of<PrefillZeroTimesNan>},
};

}  // namespace

std::span<const Plant> prefill_plants() {
  return kPrefillPlants;
}

}  // namespace mla::prop
