// Claims about the prefill builder: capability, chunk rules, sizes, staging, all-or-none fields.
#include "core/engine/prefill/prefill_builder.hpp"

#include <numeric>

#include "core/engine/step_hooks.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::prefill;

namespace {

struct Machine {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream{ledger};
  [[nodiscard]] prefill::Device device() { return {heap, ledger, stream}; }
};

Case parsed(const std::string& line) {
  auto c = parse_case(line);
  INFO(line << (c.ok() ? std::string() : c.error().message));
  REQUIRE(c.ok());
  return *c;
}

Result<PrefillShape> shape_of(const Case& c, const Batch& batch) {
  return resolve_prefill_shape(c, batch, StepHooks::none());
}

EngineConfig config_of(const Case& c, const PrefillShape& shape, const Limits& limits) {
  return {.fp8 = true,
          .compute_units = shape.compute_units,
          .kernel_heads = Heads(round_up(c.heads, 16)),
          .limits = limits,
          .workspace_tokens = c.prefill().workspace_tokens,
          .context_plans = true,
          .bound = ScratchBound::size_query};
}

const char* const kFp8 = ";arch=gfx950;dtype=bf16/fp8;kind=prefill";
const Limits kLimits{Requests(8), Rows(4096), Tokens(8192)};

PrefillMetadata build(const std::string& requests, Machine& m, PrefillBuffers& buffers) {
  const Case c = parsed("mla1:" + requests + kFp8);
  const Batch batch = *make_batch(c);
  const PrefillShape shape = *shape_of(c, batch);
  auto md = build_prefill(batch, shape, config_of(c, shape, kLimits), buffers, m.device(),
                          StepHooks::none());
  INFO((md.ok() ? std::string() : md.error().message));
  REQUIRE(md.ok());
  return std::move(*md);
}

PrefillBuffers make_buffers(Machine& m) {
  const EngineConfig config{true,  ComputeUnits(256),       Heads(16), kLimits, 65536,
                            false, ScratchBound::size_query};
  return make_prefill_buffers(config, m.device()).value();
}

// What a queued kernel sees of a plan when the device comes to it.
struct Seen {
  std::vector<std::int32_t> qo_indptr, work_indptr, work_info;
  bool operator==(const Seen&) const = default;
};

void launch_look(device::Stream& stream, const PlanFields& fields, Seen& seen) {
  stream.launch("look", [fields, &seen](const device::DeviceAccess& access) {
    const auto copy = [&](const Words& view, std::vector<std::int32_t>& to) {
      const auto words = view.on(access);
      to.assign(words.begin(), words.end());
    };
    copy(fields.qo_indptr, seen.qo_indptr);
    copy(fields.work_indptr, seen.work_indptr);
    copy(fields.work_info, seen.work_info);
  });
}

ContextChunks chunks_of(ChunkRule rule, const std::vector<std::int64_t>& context,
                        const std::vector<std::int64_t>& rows, std::int64_t workspace) {
  auto chunks = context_chunks(
      rule,
      {.context_lens = context, .qo_lens = rows, .workspace_tokens = workspace, .block_size = 16});
  REQUIRE(chunks.ok());
  return *chunks;
}

using Lens = std::vector<std::int32_t>;
using Contexts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("prefill capability: every missing piece names itself", "[prefill][P28]") {
  CHECK(capability_of({"gfx950", true, true}, Model{}).ok());
  const Capability none = capability_of({"gfx942", false, false}, {.activations = Dtype::fp8,
                                                                   .cache = Dtype::bf16,
                                                                   .heads = Heads(129),
                                                                   .qk_dim = 576,
                                                                   .v_dim = 512,
                                                                   .context_ranks = 2});
  REQUIRE(none.missing.size() == 8);
  for (const char* word : {"gfx942", "mla_prefill_ps_asm_fwd", "mla_reduce_v1", "cache is bf16",
                           "computes in fp8", "129 heads", "576 key", "2 ranks"}) {
    INFO(word);
    CHECK(std::any_of(none.missing.begin(), none.missing.end(),
                      [&](const auto& s) { return s.find(word) != std::string::npos; }));
  }
}

TEST_CASE("prefill shape: a fallback says why, and heads are padded for the kernel only",
          "[prefill][P14][P28]") {
  const auto shape = [](const std::string& rest) {
    const Case c = parsed("mla1:" + rest + ";kind=prefill");
    return *shape_of(c, *make_batch(c));
  };
  const PrefillShape fp8 = shape("1q300s300;heads=12;arch=gfx950;dtype=bf16/fp8");
  CHECK(fp8.path == Path::fp8);
  CHECK(fp8.fallback.empty());
  CHECK(fp8.heads.kernel == Heads(16));
  const PrefillShape context = shape("1q300s310;heads=12;arch=gfx950;dtype=bf16/fp8");
  CHECK(context.path == Path::flash);
  CHECK(context.heads.kernel == Heads(12));
  REQUIRE(context.fallback.size() == 1);
  CHECK(context.fallback[0].find("10 cached keys") != std::string::npos);
  CHECK(shape("1q3s3;arch=gfx950;dtype=bf16/bf16").fallback[0].find("bf16") != std::string::npos);
  CHECK(shape("1q3s3;arch=gfx942;dtype=bf16/fp8").fallback[0].find("gfx942") != std::string::npos);
  CHECK(shape("1q3s9;arch=gfx950;dtype=bf16/fp8;planner=v12").path == Path::fp8_context);
  CHECK(shape("1q3s3;arch=gfx950;dtype=bf16/fp8;causal=0").path == Path::flash);
}

TEST_CASE("prefill shape: what no engine schedules is refused", "[prefill][P34]") {
  for (const char* rest : {"1q3s2", "1q0s4", "1q3s3;pad=1", "1q3s3;page=16;block=16",
                           "1q3s3;planner=v11", "1q3s3;dtype=fp8/fp8"}) {
    INFO(rest);
    const Case c = parsed(std::string("mla1:") + rest + ";arch=gfx950;kind=prefill");
    CHECK_FALSE(shape_of(c, *make_batch(c)).ok());
  }
}

TEST_CASE("context chunks: the packed rule fills the workspace request by request",
          "[prefill][P25]") {
  const ContextChunks a = chunks_of(ChunkRule::packed, {768, 512, 512}, {3, 5, 7}, 1024);
  REQUIRE(a.chunks.size() == 2);
  CHECK(a.chunks[0].seq_lens == Lens{768, 256});
  CHECK(a.chunks[1].starts == Lens{256, 0});
  CHECK(a.chunks[1].seq_lens == Lens{256, 512});
  CHECK(a.chunks[1].is_continuation());
  CHECK(a.chunks[1].rows.begin == 3);
  CHECK(a.chunks[1].continuation_end == 8);
  CHECK(a.chunks[0].local_starts.empty());  // they are of several ranks

  const ContextChunks gaps = chunks_of(ChunkRule::packed, {64, 0, 64, 0}, {4, 4, 4, 4}, 1024);
  REQUIRE(gaps.chunks.size() == 2);
  CHECK(gaps.chunks[0].first_request == 0);
  CHECK(gaps.chunks[1].first_request == 2);
  CHECK(gaps.chunks[1].requests() == 1);
  REQUIRE(gaps.empty_rows.size() == 2);
  CHECK(gaps.empty_rows[0].begin == 4);
  CHECK(gaps.empty_rows[1].end == 16);

  const ContextChunks lone = chunks_of(ChunkRule::packed, {2048, 32, 32}, {3, 5, 7}, 1024);
  REQUIRE(lone.chunks.size() == 3);
  CHECK_FALSE(lone.chunks[0].is_continuation());
  CHECK(lone.chunks[1].is_continuation());
  CHECK_FALSE(lone.chunks[2].is_continuation());
}

TEST_CASE("context chunks: a long context does not shrink the chunk of the short ones",
          "[prefill][P25][BUG-104]") {
  Contexts context{60000};
  context.resize(32, 16);
  const std::vector<std::int64_t> rows(32, 513);
  CHECK(chunks_of(ChunkRule::packed, context, rows, 65536).chunks.size() == 1);
  CHECK(chunks_of(ChunkRule::even, context, rows, 65536).chunks.size() == 30);
}

TEST_CASE("context chunks: the even rule cuts columns through all requests", "[prefill][P25]") {
  const ContextChunks a = chunks_of(ChunkRule::even, {100, 0, 700}, {2, 2, 2}, 1000);
  REQUIRE(a.chunks.size() == 2);  // 1000 / 2, rounded down to 496
  CHECK(a.chunks[0].seq_lens == Lens{100, 0, 496});
  CHECK(a.chunks[1].starts == Lens{100, 0, 496});
  CHECK(a.chunks[1].seq_lens == Lens{0, 0, 204});
  CHECK(a.chunks[1].continuation_end == 6);
  CHECK(a.empty_rows.empty());
  const Contexts two{20, 20};
  CHECK_FALSE(split_context_evenly({two, two, 31, 16, 1, 1}).ok());
}

TEST_CASE("context chunks: ranks that share a context tile their padded part of it",
          "[prefill][P25]") {
  const Contexts context{3000, 200, 200};
  const std::vector<std::int64_t> rows{4, 4, 4};
  const auto packed = pack_context({context, rows, 1024, 128, 2, 64});
  REQUIRE(packed.ok());
  std::vector<std::int64_t> next(3, 0);
  for (const ContextChunk& chunk : packed->chunks) {
    CHECK(std::accumulate(chunk.padded_local_lens.begin(), chunk.padded_local_lens.end(), 0) <=
          512);
    for (std::size_t i = 0; i < chunk.padded_local_lens.size(); ++i) {
      std::int64_t& at = next[static_cast<std::size_t>(chunk.first_request) + i];
      CHECK(chunk.local_starts[i] == at);
      at += chunk.padded_local_lens[i];
    }
  }
  CHECK(next == Contexts{1536, 128, 128});
}

TEST_CASE("context chunks: a context in more than 65536 chunks is refused by either rule",
          "[prefill][P25]") {
  const std::vector<std::int64_t> rows{1, 1};
  const auto taken = [&](ChunkRule rule, std::int64_t keys, std::int64_t workspace,
                         std::int64_t block) {
    return context_chunks(rule, {.context_lens = std::vector<std::int64_t>{keys, 1},
                                 .qo_lens = rows,
                                 .workspace_tokens = workspace,
                                 .block_size = block})
        .ok();
  };
  CHECK_FALSE(taken(ChunkRule::packed, 65536, 1, 1));
  CHECK(taken(ChunkRule::packed, 65535, 1, 1));
  // Of 3 tokens two hold a whole block.
  CHECK_FALSE(taken(ChunkRule::packed, 131073, 3, 2));
  CHECK(taken(ChunkRule::packed, 131071, 3, 2));
  CHECK_FALSE(taken(ChunkRule::even, 65537, 2, 1));
  CHECK(taken(ChunkRule::even, 65536, 2, 1));
}

TEST_CASE("context workspace: eight model lengths, at most 65536, at least a block a request",
          "[prefill][P22]") {
  CHECK(context_workspace_tokens(Tokens(1000), Requests(8), 16) == 8000);
  CHECK(context_workspace_tokens(Tokens(100000), Requests(8), 16) == 65536);
  CHECK(context_workspace_tokens(Tokens(10), Requests(8), 16) == 512);
  CHECK(context_workspace_tokens(Tokens(10), Requests(8192), 16) == 131072);
}

TEST_CASE("prefill sizes: buffers are made for the padded heads", "[prefill][P14]") {
  const Limits limits{Requests(1), Rows(512), Tokens(512)};
  const auto tiles = [&](std::int64_t heads) {
    return (*plan::query_ps_sizes(size_query_of({true, ComputeUnits(256), Heads(heads), limits, 16,
                                                 false, ScratchBound::size_query})))
        .reduce_partial_map;
  };
  CHECK(tiles(32) == 16);
  CHECK(tiles(24) == 64);
  const Case c = parsed(std::string("mla1:1q512s512;heads=24") + kFp8);
  CHECK((*shape_of(c, *make_batch(c))).heads.kernel == Heads(32));
}

TEST_CASE("prefill scratch: the token budget bounds it, whatever the requests", "[P23][BUG-064]") {
  const EngineConfig config{true,
                            ComputeUnits(256),
                            Heads(16),
                            {Requests(1024), Rows(8192), Tokens(65536)},
                            65536,
                            false,
                            ScratchBound::token_budget};
  CHECK(most_partial_tiles(config) == 30);
  device::DeviceHeap heap;
  device::Workspace tight(heap);
  device::Workspace loose(heap);
  REQUIRE_FALSE(reserve_scratch(config, tight, StepHooks::none()));
  EngineConfig by_query = config;
  by_query.bound = ScratchBound::size_query;
  REQUIRE_FALSE(reserve_scratch(by_query, loose, StepHooks::none()));
  CHECK(tight.reserved_bytes() == scratch_layout(30, Heads(16), Rows(8192)).bytes());
  CHECK(loose.reserved_bytes() > 30 * tight.reserved_bytes());
}

TEST_CASE("prefill scratch: rows that make one unit of keys cannot be cut and need no partials",
          "[prefill][P23]") {
  const auto most = [](std::int64_t requests, std::int64_t rows, std::int64_t longest) {
    return most_partial_tiles({.fp8 = true,
                               .compute_units = ComputeUnits(256),
                               .kernel_heads = Heads(16),
                               .limits = {Requests(requests), Rows(rows), Tokens(longest)},
                               .workspace_tokens = 64,
                               .context_plans = false,
                               .bound = ScratchBound::token_budget});
  };
  CHECK(most(1, 128, 128) == 0);
  CHECK(most(8, 1024, 128) == 0);
  CHECK(most(1, 129, 129) == 2);
  CHECK(most(1, 257, 257) == 5);
  CHECK(most(1, 2000, 2000) == 23);  // 15 cuts in 8 tiles
}

TEST_CASE("prefill builder: the ten fields are there on the fp8 paths, and only there",
          "[prefill]") {
  Machine m;
  PrefillBuffers buffers = make_buffers(m);
  const PrefillMetadata fp8 = build("1q300s300_1q40s40;heads=16", m, buffers);
  REQUIRE(fp8.fp8.has_value());
  CHECK(fp8.fp8->max_q_len == 300);
  CHECK(fp8.fp8->kv_indices.size() == 340);
  CHECK(fp8.fp8->kv_indptr.allocation() == fp8.fp8->qo_indptr.allocation());
  std::vector<std::int32_t> reduce(fp8.fp8->reduce_indptr.size());
  m.stream.copy_to_host("look", fp8.fp8->reduce_indptr, std::span(reduce));
  CHECK(fp8.fp8->num_partial_tiles == reduce.back());
  CHECK(fp8.fp8->num_partial_tiles > 0);

  const PrefillMetadata flash = build("1q30s300;heads=16", m, buffers);
  CHECK_FALSE(flash.fp8.has_value());
  CHECK(flash.context.has_value());
  CHECK(flash.context_plans.empty());
  const PrefillMetadata both = build("1q30s300;heads=16;planner=v12", m, buffers);
  CHECK(both.fp8.has_value());
  CHECK(both.context_plans.size() == both.context->chunks.size());
}

TEST_CASE("prefill builder: a step beyond the declared limits is refused with the limit",
          "[prefill][P06][BUG-079]") {
  Machine m;
  PrefillBuffers buffers = make_buffers(m);
  for (const char* requests : {"9q1s1", "2q2049s2049", "1q10s9000"}) {
    const Case c = parsed(std::string("mla1:") + requests + kFp8);
    const Batch batch = *make_batch(c);
    const PrefillShape shape = *shape_of(c, batch);
    const auto md = build_prefill(batch, shape, config_of(c, shape, kLimits), buffers, m.device(),
                                  StepHooks::none());
    REQUIRE_FALSE(md.ok());
    CHECK(md.error().code == ErrorCode::overrun);
  }
}

TEST_CASE("prefill staging: every queued kernel sees its own plan, however far the host runs ahead",
          "[prefill][P20][BUG-082]") {
  const char* const batches[] = {"1q4000s4000", "1q1400s1400_1q1379s1379_1q499s499", "4q1000s1000",
                                 "7q3s3", "1q257s257"};
  std::vector<Seen> alone(std::size(batches));
  for (std::size_t i = 0; i < std::size(batches); ++i) {
    Machine m;
    PrefillBuffers buffers = make_buffers(m);
    const PrefillMetadata md = build(batches[i], m, buffers);
    launch_look(m.stream, *md.fp8, alone[i]);
    m.stream.advance();
  }
  for (std::size_t ahead = 1; ahead <= 4; ++ahead) {
    Machine m;
    PrefillBuffers buffers = make_buffers(m);
    std::vector<Seen> seen(ahead + 1);
    for (std::size_t i = 0; i <= ahead; ++i)
      launch_look(m.stream, *build(batches[i], m, buffers).fp8, seen[i]);
    m.stream.advance();
    for (std::size_t i = 0; i <= ahead; ++i) CHECK(seen[i] == alone[i]);
    CHECK(m.ledger.waits().size() == (ahead < 2 ? 0 : ahead - 1));
    CHECK(m.heap.faults().empty());
  }
}

namespace {

struct OnePlace final : StepHooks {
  void on_staging(StagePlan& stage) const override {
    stage = [](const HostPlan& plan, PrefillBuffers& b, const prefill::Device& d) {
      PlanStaging::write(plan, b.plan, b.staging.place(0));
      return copy_plan(b.staging.place(0), b.plan, b.identity.view(), d.stream);
    };
  }
};

struct UnorderedCopies final : StepHooks {
  void on_staging(StagePlan& stage) const override {
    stage = [](const HostPlan& plan, PrefillBuffers& b, const prefill::Device& d) {
      device::Stream blocking(d.ledger);  // its copies run at once, whatever is queued elsewhere
      auto fields = copy_plan(plan, b.plan, b.identity.view(), blocking);
      blocking.advance();
      return fields;
    };
  }
};

}  // namespace

TEST_CASE("prefill staging: one place, or copies that no stream orders, replace a queued plan",
          "[prefill][P20][BUG-082]") {
  const auto replaced = [](const StepHooks& hooks) {
    Machine m;
    PrefillBuffers buffers = make_buffers(m);
    Seen seen[2];
    for (int i = 0; i < 2; ++i) {
      const Case c = parsed(std::string(i == 0 ? "mla1:1q700s700" : "mla1:2q300s300") + kFp8);
      const Batch batch = *make_batch(c);
      const PrefillShape shape = *shape_of(c, batch);
      const auto md =
          build_prefill(batch, shape, config_of(c, shape, kLimits), buffers, m.device(), hooks);
      REQUIRE(md.ok());
      launch_look(m.stream, *md->fp8, seen[i]);
    }
    m.stream.advance();
    return seen[0].work_info == seen[1].work_info;
  };
  CHECK_FALSE(replaced(StepHooks::none()));
  CHECK(replaced(OnePlace()));
  CHECK(replaced(UnorderedCopies()));
}
