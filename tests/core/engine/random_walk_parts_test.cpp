// Random walks over the prefill builder and the AITER FA builder: after each step on the same
// device buffers the lists and plans are those that the step has on a device of its own.
#include <random>

#include "core/engine/fa/runner.hpp"
#include "core/engine/prefill/prefill_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

struct Machine {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream{ledger};

  std::vector<std::int32_t> look(device::DeviceView<std::int32_t> view) {
    std::vector<std::int32_t> out(view.size());
    stream.copy_to_host("look", view, std::span(out));
    return out;
  }
};

struct PartWalker {
  std::mt19937_64 random{2027};
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  }
};

bool part_holds(const std::vector<std::int32_t>& memory, const plan::PlanBuffer& fresh) {
  for (std::int64_t i = 0; i < fresh.size(); ++i)
    if (fresh.written(i) && memory[static_cast<std::size_t>(i)] != fresh.at(i)) return false;
  return true;
}

// Prefill steps: some on the fp8 path, some with context, some without their plan.
Case prefill_step(PartWalker& walker, std::int64_t heads) {
  Case c;
  c.step = PrefillSpec{.workspace_tokens = 512};
  c.arch = Arch::gfx950;
  c.compute_units = 256;
  c.dtype = {Dtype::bf16, Dtype::fp8};
  c.heads = heads;
  for (std::int64_t r = walker.below(4); r >= 0; --r) {
    const std::int64_t q = 1 + walker.below(walker.below(2) == 0 ? 8 : 600);
    c.requests.push_back({q, q + (walker.below(3) == 0 ? walker.below(900) : 0)});
  }
  const PlannerChoice planners[] = {PlannerChoice::automatic, PlannerChoice::v12,
                                    PlannerChoice::none};
  c.planner = planners[walker.below(3)];
  return c;
}

class PrefillWalk {
 public:
  explicit PrefillWalk(std::int64_t heads)
      : config_{.fp8 = true,
                .compute_units = ComputeUnits(256),
                .kernel_heads = Heads(round_up(heads, 16)),
                .limits = {Requests(4), Rows(2400), Tokens(1600)},
                .workspace_tokens = 512,
                .context_plans = true,
                .bound = prefill::ScratchBound::token_budget},
        buffers_(prefill::make_prefill_buffers(config_, device()).value()) {}

  // Whether the step had a plan to compare; every difference fails.
  bool step(const Case& c) {
    const auto batch = make_batch(c);
    REQUIRE(batch.ok());
    const auto shape = prefill::resolve_prefill_shape(c, *batch, StepHooks::none());
    REQUIRE(shape.ok());
    const auto md = build_prefill(*batch, *shape, config_, buffers_, device(), StepHooks::none());
    INFO(format_case(c));
    REQUIRE(md.ok());
    REQUIRE(md->fp8.has_value() == (shape->path != prefill::Path::flash));
    machine_.stream.advance();
    if (!md->fp8) return false;
    const prefill::PlannedLists lists = prefill::new_token_lists(md->query_start_loc);
    compare(*md->fp8, lists, plan::query_ps_sizes(prefill::size_query_of(config_)).value());
    return true;
  }

  [[nodiscard]] bool faultless() const { return machine_.heap.faults().empty(); }

 private:
  prefill::Device device() { return {machine_.heap, machine_.ledger, machine_.stream}; }

  void compare(const prefill::PlanFields& fields, const prefill::PlannedLists& lists,
               const plan::BufferSizes& sizes) {
    const auto fresh = plan::plan_ps_prefill(prefill::plan_input_of(lists, config_), sizes);
    REQUIRE(fresh.ok());
    REQUIRE(machine_.look(fields.qo_indptr) == lists.qo_indptr);
    for_each_list(
        [this](const char*, const auto& on_device, const plan::PlanBuffer& of_fresh) {
          REQUIRE(part_holds(machine_.look(on_device), of_fresh));
        },
        fields, *fresh);
    REQUIRE(fields.num_partial_tiles == fresh->reduce_indptr.at(fresh->reduce_indptr.size() - 1));
  }

  Machine machine_;
  prefill::EngineConfig config_;
  prefill::PrefillBuffers buffers_;
};

void walk_prefill(std::int64_t steps) {
  constexpr std::int64_t kStepsOfAnEngine = 200;
  PartWalker walker;
  std::int64_t planned = 0;
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t heads[] = {1, 12, 16, 24};
    const std::int64_t mine = heads[walker.below(4)];
    PrefillWalk walk(mine);
    for (std::int64_t i = 0; i < kStepsOfAnEngine && done < steps; ++i, ++done)
      planned += walk.step(prefill_step(walker, mine)) ? 1 : 0;
    REQUIRE(walk.faultless());
  }
  CHECK(planned > steps / 4);
}

// FA steps: decodes alone, or with extends and prefills, or drafts.
Case fa_step(PartWalker& walker, std::int64_t window) {
  Case c;
  c.step = FaSpec{.workspace_tokens = 64, .kv_heads = 2, .head_dim = 64, .window = window};
  c.heads = 4;
  c.block_size = 16;
  const bool decodes_only = walker.below(2) == 0;
  for (std::int64_t r = walker.below(6); r >= 0; --r) {
    const std::int64_t q = decodes_only ? 1 : 1 + walker.below(30);
    c.requests.push_back({q, q + walker.below(200)});
  }
  return c;
}

class FaWalk {
 public:
  FaWalk(const Case& settings, const fa::RunnerLimits& limits)
      : runner_(limits, machine_.heap),
        builder_({.threshold = fa::decode_threshold(settings),
                  .window = settings.fa().window,
                  .workspace_tokens = settings.fa().workspace_tokens,
                  .kv_heads = Heads(settings.fa().kv_heads),
                  .head_dim = settings.fa().head_dim},
                 StepHooks::none()),
        buffers_(builder_.allocate(machine_.heap)) {}

  // Every list of the step, in one row; the order is the same for the same counts.
  std::vector<std::int32_t> step(const Case& c) {
    const auto ordered = fa::make_ordered_batch(c);
    REQUIRE(ordered.ok());
    const auto input = fa::stage_step(ordered->batch, {c.causal}, runner_, machine_.stream);
    REQUIRE(input.ok());
    const auto md = builder_.build(0, *input, buffers_, machine_.heap, machine_.stream);
    INFO(format_case(c) << (md.ok() ? std::string() : ": " + md.error().message));
    REQUIRE(md.ok());
    machine_.stream.advance();
    std::vector<std::int32_t> all;
    const auto add = [&](device::DeviceView<std::int32_t> view) {
      const auto words = machine_.look(view);
      all.push_back(static_cast<std::int32_t>(words.size()));
      all.insert(all.end(), words.begin(), words.end());
    };
    add(md->seq_lens);
    add(md->query_start_loc);
    if (md->prefill) add(md->prefill->query_start_loc.view());
    if (!md->extend) return all;
    const fa::ChunkContext& chunks = md->extend->chunk_context;
    add(md->extend->query_start_loc.view());
    add(chunks.cu_seq_lens_chunk.view());
    add(chunks.chunk_starts.view());
    add(chunks.token_to_batch.view());
    if (!chunks.swa_metadata) return all;
    add(chunks.swa_metadata->swa_cu_seqlens.view());
    add(chunks.swa_metadata->swa_seq_starts.view());
    add(chunks.swa_metadata->swa_token_to_batch.view());
    return all;
  }

  [[nodiscard]] bool faultless() const { return machine_.heap.faults().empty(); }

 private:
  Machine machine_;
  fa::RunnerBuffers runner_;
  fa::MetadataBuilder builder_;
  fa::BuilderBuffers buffers_;
};

void walk_fa(std::int64_t steps) {
  constexpr std::int64_t kStepsOfAnEngine = 100;
  PartWalker walker;
  for (std::int64_t done = 0; done < steps;) {
    const std::int64_t window = walker.below(2) == 0 ? -1 : walker.below(60);
    const Case settings = fa_step(walker, window);
    FaWalk used(settings, {.max_requests = 6, .max_rows = 180, .max_columns = 16});
    for (std::int64_t i = 0; i < kStepsOfAnEngine && done < steps; ++i, ++done) {
      const Case c = fa_step(walker, window);
      const auto ordered = fa::make_ordered_batch(c);
      REQUIRE(ordered.ok());
      FaWalk fresh(settings, fa::limits_of(ordered->batch));
      REQUIRE(used.step(c) == fresh.step(c));
    }
    REQUIRE(used.faultless());
  }
}

}  // namespace

TEST_CASE("random walk: prefill plans are those of a fresh device", "[prefill][P03]") {
  walk_prefill(1000);
}

TEST_CASE("random walk: FA lists are those of a fresh device", "[fa][P03]") {
  walk_fa(2000);
}

TEST_CASE("random walk: long ones of both leave no difference", "[.nightly][prefill][fa][P03]") {
  walk_prefill(100000);
  walk_fa(200000);
}
