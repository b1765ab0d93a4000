// Claims about the execution of FA steps: every run of every step against the dense reference,
// kernels that refuse to guess, poison, capture and replay.
#include <cmath>

#include "core/case/steps.hpp"
#include "core/engine/fa/forward.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/numeric/bf16.hpp"
#include "cpu_backend/fa/kernels.hpp"
#include "properties/step/fa/compare.hpp"
#include "properties/step/fa/tensors.hpp"
#include "tests/catch.hpp"
#include "tests/fa_steps.hpp"

using namespace mla;
using namespace mla::cpu;

namespace {

const fa::Kernels kKernels = fa_kernels();
const std::string kSmall = ";block=16;kind=fa;workspace=64";

std::vector<prop::FaStepRun> run(const std::string& line) {
  const auto c = parse_case("mla1:" + line);
  REQUIRE(c.ok());
  auto steps = test::fa_steps(single_steps(*c), 2);
  INFO(line);
  if (!steps) FAIL(steps.error().message);
  return std::move(*steps);
}

// The largest error in units of the bound; 1 is the limit.
double closeness(const prop::FaStepRun& step) {
  const ReferenceResult reference = prop::reference_of(step);
  double worst = 0;
  for (std::size_t i = 0; i < reference.out.size(); ++i) {
    const double got = bf16_to_float(step.result.out[i]);
    const double error = std::fabs(got - reference.out[i]);
    if (std::isnan(got) || error > reference.out_bound[i]) return INFINITY;
    if (error > 0) worst = std::max(worst, error / reference.out_bound[i]);
  }
  return worst;
}

}  // namespace

TEST_CASE("fa: every run of a step agrees with the dense reference", "[fa]") {
  const std::string line =
      GENERATE(as<std::string>{},                                         // decodes, one row
               "3q1s100_1q1s700;heads=8;kvheads=2;dim=128",               // two partitions
               "3q1s33_1q1s1_1q1s0;heads=4;kvheads=4;dim=64",             // no keys
               "2q1s33_1q1s256_1q1s257;heads=4;kvheads=1;dim=32",         // a small head
               "3q1s100;heads=4;kvheads=2;dim=64;window=16",              // a window
               "3q1s100;heads=4;kvheads=2;dim=64;window=0",               // its own key only
               "2q4s33_1q1s9;heads=4;kvheads=1;dim=64;draft=3",           // drafts
               "2q4s33_1q3s3;heads=4;kvheads=1;dim=64;draft=3;window=5",  // drafts in a window
               "3q2s40;heads=4;kvheads=2;dim=64;draft=1;pad=3",           // padded to a graph
               "3q1s40;heads=4;kvheads=2;dim=64;pad=3",
               "2q9s9_1q30s30;heads=6;kvheads=3;dim=48",       // prefills
               "2q9s9_1q30s30;heads=6;kvheads=3;window=7",     // prefills in a window
               "1q20s120_1q9s9_2q1s50;heads=4;kvheads=2",      // all three runs
               "1q20s21_1q9s300_2q1s50;heads=4;kvheads=2",     // chunks of one request
               "3q20s64_1q5s500;heads=4;kvheads=2;window=40",  // extends in a window
               "1q20s120_1q9s300_2q1s5;heads=4;causal=0",      // no mask
               "2q3s50_1q2s2_1q9s9_1q9s12;heads=4;kvheads=2",  // a short prefill
               "1q5s9_1q7s7;heads=4;kvheads=2;pad=2",          // padding after a prefill
               "2q10s90;heads=4;kvheads=2;layout=prefix.3",    // a shared prefix
               "2q10s90_4q1s70;heads=4;layout=interleaved",
               "2q10s90_4q1s70;heads=4;origin=131072;data=large.3",
               "1q10s90_1q9s9_2q1s50+1q1s5_1q3s9+2q1s50+1q30s200;heads=4;kvheads=2");
  const auto steps = run(line + kSmall);
  INFO(line);
  const prop::Outcome outcome = prop::compare(steps);
  INFO(outcome.message);
  CHECK(outcome.verdict == prop::Verdict::pass);
  for (const prop::FaStepRun& step : steps) CHECK(closeness(step) < 0.8);
}

TEST_CASE("fa: the bound is tight enough to tell a row from the one before it", "[fa]") {
  for (const prop::FaStepRun& step : run("1q20s120_1q9s9_2q1s50;heads=4;kvheads=2" + kSmall)) {
    const ReferenceResult reference = prop::reference_of(step);
    const auto dim = static_cast<std::size_t>(step.layer.head_dim);
    const auto heads = static_cast<std::size_t>(step.layer.heads.count());
    for (std::size_t pair = heads; pair < reference.out.size() / dim; ++pair) {
      bool apart = false;
      for (std::size_t d = 0; d < dim; ++d) {
        const std::size_t a = pair * dim + d;
        const std::size_t b = a - heads * dim;
        apart = apart || std::fabs(reference.out[a] - reference.out[b]) >
                             reference.out_bound[a] + reference.out_bound[b];
      }
      CHECK(apart);
    }
  }
}

TEST_CASE("fa: a chunk's size does not change what a row sees", "[fa][P25]") {
  const std::string line = "1q20s121_1q9s300_1q7s8;heads=4;kvheads=2;block=16;kind=fa;workspace=";
  for (const char* workspace : {"3", "7", "48", "300", "1000"}) {
    const auto steps = run(line + workspace);
    CHECK(prop::compare(steps).verdict == prop::Verdict::pass);
    CHECK(steps[0].parts.extend->chunks.num_chunks == ceil_div(291, std::stoll(workspace) / 3));
  }
}

TEST_CASE("fa: what no kernel takes is refused before anything runs", "[fa][P28][P29]") {
  const auto refusal = [](const std::string& line) {
    const auto c = parse_case("mla1:" + line + kSmall);
    REQUIRE(c.ok());
    const auto steps = test::fa_steps(single_steps(*c), 1);
    return steps.ok() ? std::string() : steps.error().message;
  };
  CHECK_THAT(refusal("1q1s5;heads=4;dim=96"), mla::test::contains("96"));
  CHECK(refusal("1q1s5;heads=4;dim=96;draft=1").find("96") != std::string::npos);
  CHECK(refusal("1q2s5;heads=4;dim=96;draft=1").empty());
  CHECK_THAT(refusal("1q2s5;heads=4;causal=0;draft=1"), mla::test::contains("masks causally"));
  CHECK_THAT(refusal("1q9s5;heads=4"), mla::test::contains("5 keys for 9"));
  CHECK_THAT(refusal("1q3s2;heads=4;draft=3"), mla::test::contains("2 keys for 3"));
  CHECK_THAT(refusal("70q2s5;heads=4"), mla::test::contains("70 extends"));
  CHECK_THAT(refusal("1q1s5+1q9s5;heads=4"), mla::test::contains("step 1"));
}

TEST_CASE("fa: a decode with fewer keys than rows is a fault, not a guess", "[fa][P34]") {
  // The runner refuses such a request; here the length on the device is another one.
  struct ShorterOnDevice final : prop::Interposer {
    void on_fa_input(fa::StepInput& in, device::Stream& stream) const override {
      stream.launch("shorten",
                    [lens = in.seq_lens](const auto& access) { lens.on(access)[0] = 2; });
    }
  };
  const auto c = parse_case("mla1:1q3s9;heads=4;draft=3" + kSmall);
  const auto steps = test::fa_steps({*c}, 2, ShorterOnDevice());
  REQUIRE(steps.ok());
  const auto& faults = steps->front().result.faults;
  REQUIRE(faults.size() == 1);
  CHECK_THAT(faults[0].what, mla::test::contains("2 keys for 3 rows"));
}

TEST_CASE("fa: paged_attention_v1 leaves unwritten what its loops do not reach",
          "[fa][P28][BUG-093]") {
  // Called against the route: a head of 96 elements is written up to the 64th.
  std::vector<std::uint16_t> q(96, bf16_from_float(1, Bf16Rounding::nearest_even));
  std::vector<std::uint16_t> cache(2 * 16 * 96, bf16_from_float(2, Bf16Rounding::nearest_even));
  std::vector<std::uint16_t> out(96, kPoisonBf16);
  const std::vector<std::int32_t> cu{0, 1};
  const std::vector<std::int32_t> lens{3};
  const std::vector<std::int32_t> table{0};
  std::vector<Fault> faults;
  Launches launches;
  paged_attention_v1({1, faults, launches},
                     {.q = q,
                      .cache = {.bits = cache, .blocks = 1, .kv_row = 96},
                      .blocks = {table, 1},
                      .cu_seqlens_q = cu,
                      .seq_lens = lens,
                      .shape = {.heads = 1, .kv_heads = 1, .head_dim = 96, .softmax_scale = 0.1F},
                      .out = out});
  CHECK(faults.empty());
  CHECK(bf16_to_float(out[63]) == 2.0F);
  CHECK(out[64] == kPoisonBf16);
}

TEST_CASE("fa: kernels stay inside their lists and say what does not fit", "[fa][P04]") {
  const fa::TensorShape shape{.heads = 1, .kv_heads = 1, .head_dim = 16, .softmax_scale = 1};
  const std::vector<std::uint16_t> rows(4 * 16, 0);
  std::vector<std::uint16_t> out(4 * 16, kPoisonBf16);
  std::vector<Fault> faults;
  Launches launches;
  const fa::KernelContext context{1, faults, launches};
  const auto call = [&](std::vector<std::int32_t> cu_q, std::vector<std::int32_t> cu_k,
                        std::int64_t max_q, std::int64_t max_k) {
    faults.clear();
    std::fill(out.begin(), out.end(), kPoisonBf16);
    varlen_attention(context, {.what = "test",
                               .q = rows,
                               .k = rows,
                               .v = rows,
                               .cu_seqlens_q = cu_q,
                               .cu_seqlens_k = cu_k,
                               .max_seqlen_q = max_q,
                               .max_seqlen_k = max_k,
                               .visibility = {},
                               .shape = shape,
                               .out = out,
                               .lse = {}});
    return faults.empty() ? std::string() : faults[0].what;
  };
  CHECK(call({0, 2, 4}, {0, 2, 4}, 2, 2).empty());
  CHECK(out[63] == 0);
  CHECK_THAT(call({0, 2, 4}, {0, 2, 4}, 1, 2), mla::test::contains("2 rows, max_seqlen_q is 1"));
  CHECK(out[16] == kPoisonBf16);
  CHECK_THAT(call({0, 2, 4}, {0, 2, 4}, 2, 1), mla::test::contains("max_seqlen_k is 1"));
  CHECK_THAT(call({0, 2, 5}, {0, 2, 4}, 3, 3), mla::test::contains("rows 2 to 5 of 4"));
  CHECK_THAT(call({0, 2, 1}, {0, 2, 4}, 3, 3), mla::test::contains("rows 2 to 1"));
  CHECK_THAT(call({0, 2}, {0, 2, 4}, 3, 3), mla::test::contains("2 entries"));
  std::vector<std::uint16_t> cache(2 * 16 * 16, 0);
  const std::vector<std::int64_t> slots{3, -1, 16, 0};
  update_cache(context, {.k = rows,
                         .v = rows,
                         .slot_mapping = slots,
                         .cache = {.bits = cache, .blocks = 1, .kv_row = 16}});
  CHECK_THAT(faults.back().what, mla::test::contains("slot 16 of row 2"));
}

TEST_CASE("fa: a state without keys is neutral in a merge", "[fa][P09]") {
  const fa::TensorShape shape{.heads = 1, .kv_heads = 1, .head_dim = 16, .softmax_scale = 1};
  const std::vector<std::uint16_t> some(16, bf16_from_float(3, Bf16Rounding::nearest_even));
  const std::vector<std::uint16_t> none(16, 0);
  const std::vector<float> lse{1.5F};
  const std::vector<float> empty{-INFINITY};
  std::vector<std::uint16_t> out(16);
  std::vector<float> merged(1);
  std::vector<Fault> faults;
  Launches launches;
  const fa::KernelContext context{1, faults, launches};
  merge_states(context, {{none, empty}, {some, lse}, shape, out, merged});
  CHECK(out == some);
  CHECK(merged == lse);
  merge_states(context, {{none, empty}, {none, empty}, shape, out, merged});
  CHECK(out == none);
  CHECK(merged == empty);
}

TEST_CASE("fa: a captured decode replays for another step as if it ran eagerly", "[fa][P19]") {
  const auto captured = *parse_case("mla1:3q2s60;heads=4;kvheads=2;draft=1;pad=1" + kSmall);
  Case next = captured;
  next.requests = {{2, 17}, {2, 2}, {2, 40}};
  next.data.seed = 5;
  const fa::Layer layer = *fa::resolve_layer(captured);
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const fa::OrderedBatch first = *fa::make_ordered_batch(captured);
  const fa::OrderedBatch second = *fa::make_ordered_batch(next);
  const fa::RunnerBuffers runner(
      fa::largest(fa::limits_of(first.batch), fa::limits_of(second.batch)), heap);
  const fa::MetadataBuilder builder({.threshold = 2,
                                     .workspace_tokens = 64,
                                     .kv_heads = layer.kv_heads,
                                     .head_dim = layer.head_dim},
                                    StepHooks::none());
  const fa::BuilderBuffers scratch = builder.allocate(heap);
  const auto input = fa::stage_step(first.batch, {true}, runner, stream);
  auto metadata = builder.build_for_cudagraph_capture(*input, scratch, heap, stream);
  REQUIRE(metadata.ok());
  // One set of tensors, as large as the larger step's cache, at addresses that stay.
  fa::Tensors large = prop::make_fa_tensors(captured, first, layer);
  const fa::Tensors small = prop::make_fa_tensors(next, second, layer);
  REQUIRE(small.blocks <= large.blocks);
  const fa::DeviceTensors tensors = upload_tensors(large, layer, heap, stream);
  ledger.clear();
  stream.begin_capture();
  CHECK_FALSE(
      fa::queue_forward({layer, *metadata, tensors, kKernels, 1}, stream, StepHooks::none()));
  const device::Graph graph = stream.end_capture();
  CHECK(graph.size() == 2);  // the cache update and one kernel
  CHECK(ledger.entries().empty());

  REQUIRE(fa::stage_step(second.batch, {true}, runner, stream).ok());
  stream.launch("upload the next step", [&](const device::DeviceAccess& access) {
    const auto put = [&](const std::vector<std::uint16_t>& from, const auto& to) {
      std::copy(from.begin(), from.end(), to.view().on(access).begin());
    };
    put(small.q, tensors.q);
    put(small.k, tensors.k);
    put(small.v, tensors.v);
    const std::size_t plane = small.cache.size() / 2;
    const auto cache = tensors.cache.view().on(access);
    std::copy_n(small.cache.begin(), plane, cache.begin());
    std::copy_n(small.cache.begin() + static_cast<std::ptrdiff_t>(plane), plane,
                cache.begin() + static_cast<std::ptrdiff_t>(cache.size() / 2));
  });
  stream.replay(graph);
  const fa::StepResult replayed = read_result(tensors, stream);
  const auto eager = test::fa_steps({next}, 1);
  REQUIRE(eager.ok());
  CHECK((replayed.out == eager->front().result.out));
  CHECK(replayed.faults.empty());
  CHECK(heap.faults().empty());
}

TEST_CASE("fa: layers of one group keep their own causal flags", "[fa][P29][P30][BUG-109]") {
  const auto c = *parse_case("mla1:1q6s30_1q5s5;heads=4;kvheads=2" + kSmall);
  const fa::Layer first = *fa::resolve_layer(c);
  fa::Layer second = first;
  second.index = 1;
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Stream stream(ledger);
  const fa::OrderedBatch ordered = *fa::make_ordered_batch(c);
  const fa::RunnerBuffers runner(fa::limits_of(ordered.batch), heap);
  const fa::MetadataBuilder builder(
      {.workspace_tokens = 64, .kv_heads = first.kv_heads, .head_dim = first.head_dim},
      StepHooks::none());
  const fa::BuilderBuffers scratch = builder.allocate(heap);
  const auto input = fa::stage_step(ordered.batch, {true, false}, runner, stream);
  const auto metadata = builder.build(0, *input, scratch, heap, stream);
  REQUIRE(metadata.ok());
  const fa::Tensors host = prop::make_fa_tensors(c, ordered, first);
  const auto result = [&](const fa::Layer& layer) {
    const fa::DeviceTensors tensors = upload_tensors(host, layer, heap, stream);
    REQUIRE_FALSE(
        fa::queue_forward({layer, *metadata, tensors, kKernels, 1}, stream, StepHooks::none()));
    return read_result(tensors, stream).out;
  };
  const auto eager = [&](bool causal) {
    Case alone = c;
    alone.causal = causal;
    return (*test::fa_steps({alone}, 1)).front().result.out;
  };
  CHECK((result(first) == eager(true)));
  CHECK((result(second) == eager(false)));
  fa::Layer third = first;
  third.index = 2;
  const fa::DeviceTensors tensors = upload_tensors(host, third, heap, stream);
  const MaybeError missing =
      fa::queue_forward({third, *metadata, tensors, kKernels, 1}, stream, StepHooks::none());
  REQUIRE(missing.has_value());
  CHECK(missing->bug == "BUG-109");
}

TEST_CASE("fa: any number of threads gives the same bits", "[fa][P31]") {
  const auto c = *parse_case("mla1:2q20s120_1q9s9_3q1s50;heads=8;kvheads=4" + kSmall);
  const auto one = test::fa_steps({c}, 1);
  const auto many = test::fa_steps({c}, 7);
  CHECK((one->front().result.out == many->front().result.out));
}
