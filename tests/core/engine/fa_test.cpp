// Claims about the metadata of the AITER FA backend: fields, transfers, runs, chunks, windows,
// routes.
#include <numeric>

#include "core/engine/fa/runner.hpp"
#include "core/engine/step_hooks.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::fa;
using Ints = std::vector<std::int32_t>;
using Lengths = std::vector<std::int64_t>;

namespace {

struct Device {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream{ledger};

  template <class T>
  std::vector<T> read(device::DeviceView<T> view) {
    std::vector<T> out(view.size());
    stream.copy_to_host("look", view, std::span(out));
    return out;
  }
  Ints read(const device::DeviceBuffer<std::int32_t>& buffer) { return read(buffer.view()); }
};

Case fa_case(std::vector<RequestSpec> requests) {
  Case c;
  c.requests = std::move(requests);
  c.heads = 4;
  c.step = FaSpec{.kv_heads = 2, .head_dim = 64};
  c.block_size = 16;
  return c;
}

// Options that keep the workspace small.
BuilderOptions options_of(const Case& c, std::int64_t workspace_tokens) {
  return {.threshold = decode_threshold(c),
          .window = c.fa().window,
          .workspace_tokens = workspace_tokens,
          .kv_heads = Heads(c.fa().kv_heads),
          .head_dim = c.fa().head_dim};
}

// One step on a device of its own, built and run.
struct Built {
  Device device;
  OrderedBatch ordered;
  RunnerBuffers runner;
  MetadataBuilder builder;
  BuilderBuffers buffers;
  StepInput input;
  std::size_t queued_by_runner = 0;
  Metadata md;

  explicit Built(const Case& c, std::int64_t workspace_tokens = 64)
      : ordered(*make_ordered_batch(c)),
        runner(limits_of(ordered.batch), device.heap),
        builder(options_of(c, workspace_tokens), StepHooks::none()),
        buffers(builder.allocate(device.heap)),
        input(*stage_step(ordered.batch, {c.causal}, runner, device.stream)) {
    queued_by_runner = device.stream.pending();
    device.ledger.clear();
    auto built = builder.build(0, input, buffers, device.heap, device.stream);
    REQUIRE(built.ok());
    md = std::move(*built);
  }
};

template <class T>
concept MinQueryLen = requires(T t) { t.min_query_len; };
template <class T>
concept MaxQueryLen = requires(T t) { t.max_query_len; };
template <class T>
concept MaxSeqLen = requires(T t) { t.max_seq_len; };
template <class T>
concept QueryStartLoc = requires(T t) { t.query_start_loc; };
template <class T>
concept SeqTot = requires(T t) { t.seq_tot; };
template <class T>
concept SeqLens = requires(T t) { t.seq_lens; };
template <class T>
concept SwaSeqlens = requires(T t) { t.swa_seqlens; };
template <class T>
concept ActualKvTokens = requires(T t) { t.num_actual_kv_tokens; };
template <class T>
concept PrefillTokens = requires(T t) { t.num_prefill_tokens; };
template <class T>
concept CommonPrefix = requires(T t) { t.common_prefix_len; };
template <class T>
concept TotalTokens = requires(T t) { t.total_tokens; };

// What vLLM #41942 removed is gone from every class that had it.
static_assert(!MinQueryLen<DecodePart> && !MaxSeqLen<DecodePart> && !QueryStartLoc<DecodePart>);
static_assert(!MinQueryLen<PrefillPart> && !MinQueryLen<ExtendPart>);
static_assert(!SeqTot<ChunkContext> && !SeqLens<ChunkContext> && !SwaSeqlens<SlidingWindow>);
static_assert(!ActualKvTokens<Metadata> && !MaxQueryLen<Metadata> && !PrefillTokens<Metadata> &&
              !CommonPrefix<Metadata> && !TotalTokens<Metadata>);
// The concepts do see a field that is there.
static_assert(MaxQueryLen<DecodePart> && MaxSeqLen<PrefillPart> && QueryStartLoc<ExtendPart> &&
              SeqLens<Metadata>);

}  // namespace

TEST_CASE("fa: the metadata classes have the kept fields and no other", "[fa]") {
  // A structured binding compiles only with as many names as there are fields.
  const DecodePart decode;
  [[maybe_unused]] const auto& [decode_max_query_len] = decode;
  const PrefillPart prefill;
  [[maybe_unused]] const auto& [p_max_query_len, p_max_seq_len, p_query_start_loc] = prefill;
  const ExtendPart extend;
  [[maybe_unused]] const auto& [e_max_query_len, e_max_seq_len, e_query_start_loc, e_chunks] =
      extend;
  const ChunkContext chunks;
  [[maybe_unused]] const auto& [workspace, cu_seq_lens_chunk, chunk_starts, token_to_batch,
                                max_seq_lens, num_chunks, total_token_per_batch, swa_metadata] =
      chunks;
  const SlidingWindow swa;
  [[maybe_unused]] const auto& [swa_cu_seqlens, swa_seq_starts, swa_token_to_batch, swa_max_seqlens,
                                swa_total_tokens, swa_workspace] = swa;
  const Metadata md;
  [[maybe_unused]] const auto& [num_actual_tokens, num_decodes, num_decode_tokens, num_extends,
                                num_extend_tokens, num_prefills, slot_mapping, block_table,
                                seq_lens, query_start_loc, causal, d, e, p] = md;
  CHECK(&swa_workspace == &swa.swa_workspace);
  CHECK(&causal == &md.causal);
  CHECK(&total_token_per_batch == &chunks.total_token_per_batch);
}

TEST_CASE("fa: a step of decodes copies nothing, queues nothing and waits for nothing",
          "[fa][P21][BUG-038][BUG-114]") {
  Case c = fa_case({{1, 30}, {3, 17}, {4, 40}});
  c.fa().draft_tokens = 3;
  Built b(c);
  CHECK(b.device.ledger.entries().empty());
  CHECK(b.device.stream.pending() == b.queued_by_runner);
  CHECK(b.md.num_decodes == Requests(3));
  CHECK(b.md.decode->max_query_len == 4);
  CHECK_FALSE(b.md.extend);
  CHECK_FALSE(b.md.prefill);
  CHECK(b.device.read(b.md.seq_lens) == Ints{30, 17, 40});
  CHECK(b.device.read(b.md.query_start_loc) == Ints{0, 1, 4, 8});
}

TEST_CASE("fa: a step with extends or prefills copies the KV lengths once", "[fa][P21]") {
  for (const RequestSpec longer : {RequestSpec{5, 9}, RequestSpec{5, 5}}) {
    Built b(fa_case({{1, 30}, longer}));
    const auto waits = b.device.ledger.waits();
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].name == "seq_lens");
    CHECK(waits[0].bytes == 8);
    CHECK(b.md.extend.has_value() == (longer.kv_len > longer.qo_len));
    CHECK(b.md.prefill.has_value() == (longer.kv_len == longer.qo_len));
  }
}

TEST_CASE("fa: a mixed step is ordered, and each run's rows start at 0", "[fa][P04][P26]") {
  Built b(fa_case({{7, 7}, {1, 30}, {4, 40}, {2, 2}, {1, 5}, {6, 20}}));
  CHECK(b.ordered.origin == Lengths{1, 4, 2, 5, 0, 3});
  CHECK(b.md.num_decodes == Requests(2));
  CHECK(b.md.num_extends == Requests(2));
  CHECK(b.md.num_prefills == Requests(2));
  CHECK(b.md.num_decode_tokens == Rows(2));
  CHECK(b.md.num_extend_tokens == Rows(10));
  CHECK(b.md.num_actual_tokens == Rows(21));
  CHECK(b.md.decode->max_query_len == 1);
  CHECK(b.md.extend->max_query_len == 6);
  CHECK(b.md.extend->max_seq_len == 40);
  CHECK(b.md.prefill->max_query_len == 7);
  CHECK(b.md.prefill->max_seq_len == 7);
  CHECK(b.device.read(b.md.extend->query_start_loc) == Ints{0, 4, 10});
  CHECK(b.device.read(b.md.prefill->query_start_loc) == Ints{0, 7, 9});
}

TEST_CASE("fa: capture is the ordinary build", "[fa][P19]") {
  Case c = fa_case({{2, 30}, {2, 17}});
  c.fa().draft_tokens = 1;
  c.pad_requests = 2;  // two rows and two keys each
  Built b(c);
  auto captured =
      b.builder.build_for_cudagraph_capture(b.input, b.buffers, b.device.heap, b.device.stream);
  REQUIRE(captured.ok());
  CHECK(captured->num_actual_tokens == Rows(8));
  CHECK(captured->num_decodes == b.md.num_decodes);
  CHECK(captured->num_decode_tokens == b.md.num_decode_tokens);
  CHECK(captured->decode->max_query_len == 2);
  CHECK(captured->seq_lens.allocation() == b.md.seq_lens.allocation());
  CHECK(captured->query_start_loc.allocation() == b.md.query_start_loc.allocation());
  CHECK(b.device.ledger.entries().empty());
}

TEST_CASE("fa: a shorter step in used buffers reads nothing of the longer one", "[fa][P03]") {
  Built b(fa_case({{1, 30}, {1, 90}, {6, 50}, {7, 7}}));
  const OrderedBatch next = *make_ordered_batch(fa_case({{1, 12}, {3, 8}}));
  const auto input = stage_step(next.batch, {true}, b.runner, b.device.stream);
  REQUIRE(input.ok());
  auto md = b.builder.build(0, *input, b.buffers, b.device.heap, b.device.stream);
  REQUIRE(md.ok());
  CHECK(b.device.read(md->seq_lens) == Ints{12, 8});
  CHECK(b.device.read(md->query_start_loc) == Ints{0, 1, 4});
  CHECK(b.device.read(md->extend->query_start_loc) == Ints{0, 3});
  CHECK(b.device.read(md->slot_mapping) == slot_mapping_of(next.batch));
  CHECK(b.device.read(md->block_table) == table_rows_of(next.batch, b.runner.columns));
  CHECK(b.device.heap.faults().empty());
}

TEST_CASE("fa: what the builder cannot serve is refused by name", "[fa]") {
  Built b(fa_case({{1, 30}}));
  const auto build = [&](std::int64_t prefix, const StepInput& in) {
    return b.builder.build(prefix, in, b.buffers, b.device.heap, b.device.stream);
  };
  CHECK_THAT(build(7, b.input).error().message, mla::test::contains("7 tokens"));
  StepInput shorter = b.input;
  shorter.query_start_loc = shorter.query_start_loc.subview(0, 1);
  CHECK_THAT(build(0, shorter).error().message, mla::test::contains("query_start_loc has 1"));
  StepInput more = b.input;
  more.qo_lens = {9};
  CHECK_THAT(build(0, more).error().message, mla::test::contains("9 rows"));
}

TEST_CASE("fa: a decode with fewer keys than rows is refused before anything is queued",
          "[fa][P40][BUG-075]") {
  Case c = fa_case({{4, 2}, {9, 30}});
  c.fa().draft_tokens = 3;
  const OrderedBatch ordered = *make_ordered_batch(c);
  Device device;
  const RunnerBuffers runner(limits_of(ordered.batch), device.heap);
  const auto staged = stage_step(ordered.batch, {true}, runner, device.stream);
  REQUIRE_FALSE(staged.ok());
  CHECK(staged.error().bug == "BUG-075");
  CHECK(staged.error().message ==
        "request 0 has 2 keys for 4 query rows: the first rows would see none");
  CHECK(device.stream.pending() == 0);
}

TEST_CASE("fa: a continued prompt among the prefills is refused, not cut off from its context",
          "[fa][P26]") {
  const Lengths q{1, 8, 9};
  const Lengths n{5, 8, 30};
  const auto lens = HostSeqLens::copied(n);
  const ThreeWaySplit split =
      split_decodes_prefills_and_extends({.qo_lens = q, .kv_lens = n, .threshold = 1});
  const auto parts = plan_parts({.qo_lens = q, .split = split}, lens);
  REQUIRE_FALSE(parts.ok());
  CHECK_THAT(parts.error().message, mla::test::contains("request 2 has 30 keys for 9"));
  CHECK_FALSE(plan_parts({.qo_lens = q, .split = split}, HostSeqLens::absent()).ok());
}

TEST_CASE("fa: chunks by hand", "[fa][P25]") {
  // 20 tokens for two extends: ten each, so the longer context takes three chunks.
  const ChunkPlan plan = *plan_chunks(Lengths{23, 4}, 20);
  CHECK(plan.num_chunks == 3);
  CHECK(plan.cu_seq_lens == Ints{0, 10, 14, 0, 10, 10, 0, 3, 3});
  CHECK(plan.chunk_starts == Ints{0, 0, 10, 4, 20, 4});
  CHECK(plan.max_seq_lens == Lengths{10, 10, 3});
  CHECK(plan.total_token_per_batch == Lengths{14, 10, 3});
  CHECK(plan.columns() == 14);
  CHECK(Ints(plan.token_to_batch.begin(), plan.token_to_batch.begin() + 14) ==
        Ints{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(Ints(plan.token_to_batch.begin() + 28, plan.token_to_batch.begin() + 31) == Ints{0, 0, 0});
  CHECK_THAT(plan_chunks(Lengths{1, 1, 1}, 2).error().message, mla::test::contains("3 extends"));
}

TEST_CASE("fa: a context in more than 65536 chunks is refused", "[fa][P25]") {
  CHECK(plan_chunks(Lengths{65536}, 1).ok());
  CHECK(plan_chunks(Lengths{65537}, 1).error().message ==
        "a workspace of 1 tokens cuts the context in more than 65536 chunks, which is the limit");
}

TEST_CASE("fa: chunks cover every context once, in any workspace", "[fa][P25]") {
  for (std::int64_t code = 0; code < 7 * 7 * 7; ++code)
    for (std::int64_t workspace = 3; workspace <= 24; ++workspace) {
      const Lengths context{code % 7, code / 7 % 7, code / 49};
      const ChunkPlan plan = *plan_chunks(context, workspace);
      std::vector<Lengths> seen(3);
      for (std::int64_t c = 0; c < plan.num_chunks; ++c) {
        REQUIRE(plan.total_token_per_batch[static_cast<std::size_t>(c)] <= workspace);
        for (std::int64_t t = 0; t < plan.total_token_per_batch[static_cast<std::size_t>(c)]; ++t) {
          const auto b = static_cast<std::size_t>(
              plan.token_to_batch[static_cast<std::size_t>(c * plan.columns() + t)]);
          REQUIRE(b < 3);
          const auto at = static_cast<std::size_t>(c) * 4 + b;
          REQUIRE(t >= plan.cu_seq_lens[at]);
          REQUIRE(t < plan.cu_seq_lens[at + 1]);
          seen[b].push_back(t - plan.cu_seq_lens[at] +
                            plan.chunk_starts[static_cast<std::size_t>(c) * 3 + b]);
        }
      }
      for (std::size_t b = 0; b < 3; ++b) {
        Lengths want(static_cast<std::size_t>(context[b]));
        std::iota(want.begin(), want.end(), 0);
        REQUIRE(seen[b] == want);
      }
    }
}

TEST_CASE("fa: empty requests own no token", "[fa][P25]") {
  CHECK(token_owners(Ints{0, 0, 3, 3, 3, 5, 5}, 5) == Ints{1, 1, 1, 4, 4});
  CHECK(token_owners(Ints{0, 0}, 0).empty());
}

TEST_CASE("fa: a window keeps the keys that its rows can see", "[fa][P28]") {
  const WindowPlan plan = *plan_window(Lengths{4, 3, 2}, Lengths{30, 5, 2}, 6);
  CHECK(plan.seq_starts == Ints{19, 0, 0});
  CHECK(plan.cu_seqlens == Ints{0, 11, 16, 18});
  CHECK(plan.max_seqlens == 11);
  CHECK(plan.total_tokens == 18);
  CHECK(plan.token_to_batch == Ints{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2});
  const Lengths rows(2, 2);
  const Lengths keys(2, std::int64_t{3} << 30);
  CHECK_THAT(plan_window(rows, keys, std::int64_t{3} << 30).error().message,
             mla::test::contains("int32"));
}

TEST_CASE("fa: the decode route looks at window, head and rows", "[fa][P28][BUG-093][BUG-119]") {
  const auto kernel = [](const Layer& layer, std::int64_t rows) {
    return (*route_decode(layer, true, rows)).kernel;
  };
  const Layer plain{.heads = Heads(8), .kv_heads = Heads(2), .head_dim = 128};
  CHECK(kernel(plain, 1) == DecodeKernel::paged_attention_v1);
  CHECK(kernel(plain, 2) == DecodeKernel::unified_attention);
  Layer windowed = plain;
  windowed.window = 0;
  CHECK(kernel(windowed, 1) == DecodeKernel::unified_attention);
  Layer small = plain;
  small.head_dim = 32;
  CHECK(kernel(small, 1) == DecodeKernel::unified_attention);
}

TEST_CASE("fa: shapes without a kernel are refused with the value", "[fa][P28][P29]") {
  Layer layer{.heads = Heads(8), .kv_heads = Heads(2), .head_dim = 96};
  CHECK_THAT(route_decode(layer, true, 1).error().message, mla::test::contains("96"));
  CHECK(route_decode(layer, true, 2).ok());
  layer = {.heads = Heads(32), .kv_heads = Heads(1), .head_dim = 128};
  CHECK_THAT(route_decode(layer, true, 1).error().message, mla::test::contains("not 32"));
  layer = {.heads = Heads(8), .kv_heads = Heads(2), .head_dim = 128};
  CHECK(route_decode(layer, false, 1).ok());
  CHECK(route_decode(layer, false, 3).error().bug == "BUG-108");
  const auto message = [](auto change) {
    Case c = fa_case({{1, 1}});
    change(c);
    return resolve_layer(c).error().message;
  };
  CHECK_THAT(message([](Case& c) { c.fa().kv_heads = 3; }), mla::test::contains("3 KV heads"));
  CHECK_THAT(message([](Case& c) { c.fa().head_dim = 72; }), mla::test::contains("72"));
  CHECK_THAT(message([](Case& c) { c.block_size = 128; }), mla::test::contains("128"));
  CHECK_THAT(message([](Case& c) { c.dtype.kv = Dtype::fp8; }), mla::test::contains("bf16/fp8"));
  CHECK_THAT(message([](Case& c) { c.step = DecodeSpec{}; }), mla::test::contains("decode"));
  CHECK_THAT(message([](Case& c) { c.causal = false, c.fa().window = 5; }),
             mla::test::contains("5 keys"));
}

TEST_CASE("fa: the sizes that a manager may choose are those that a layer takes",
          "[fa][P27][BUG-094]") {
  const SupportedSizes fa = supported_block_sizes();
  for (std::int64_t manager = 1; manager <= 256; ++manager) {
    const auto chosen = select_common_block_size(manager, {fa});
    CHECK(chosen.ok() == (manager % 16 == 0));
    if (!chosen) continue;
    Case c = fa_case({{1, 1}});
    c.block_size = *chosen;
    CHECK(resolve_layer(c).ok());
  }
  // A second backend that needs blocks of 128 tokens shares no size with this one.
  const auto none = select_common_block_size(128, {fa, {128}});
  CHECK_THAT(none.error().message, mla::test::contains("128"));
  CHECK(*select_common_block_size(64, {fa, {MultipleOf{16}}}) == 32);
}
