// Claims about whole prefill steps: every path agrees with the dense reference within its bound.
#include "core/engine/prefill/forward.hpp"
#include "core/engine/prefill/prefill_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "cpu_backend/prefill/kernels.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "properties/step/prefill/tensors.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"

using namespace mla;
using namespace mla::prefill;

namespace {

struct Machine {
  device::DeviceHeap heap;
  device::TransferLedger ledger;
  device::Workspace workspace{heap};
  device::Stream stream{ledger};
  [[nodiscard]] Device device() { return {heap, ledger, stream}; }
};

struct Run {
  Case spec;
  Batch batch;
  PrefillShape shape;
  EngineConfig config;
  Machine machine;
  PrefillBuffers buffers;
  PrefillMetadata metadata;
  PrefillTensors tensors;
  PrefillResult result;
};

template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return std::move(result).value();
}

const Kernels kKernels = cpu::prefill_kernels(cpu::portable_path());

Limits limits_of(const Batch& batch) {
  std::int64_t longest = 0;
  for (const RequestSpec& r : batch.requests) longest = std::max(longest, r.kv_len);
  return {Requests(static_cast<std::int64_t>(batch.requests.size())), batch.rows(),
          Tokens(longest)};
}

std::unique_ptr<Run> prepare(const std::string& line) {
  INFO(line);
  auto run = std::make_unique<Run>();
  run->spec = must(parse_case("mla1:" + line + ";kind=prefill"));
  run->batch = must(make_batch(run->spec));
  run->shape = must(resolve_prefill_shape(run->spec, run->batch, StepHooks::none()));
  run->config = {.fp8 = capability_of(run->spec, StepHooks::none()).ok(),
                 .compute_units = run->shape.compute_units,
                 .kernel_heads = Heads(round_up(run->spec.heads, 16)),
                 .limits = limits_of(run->batch),
                 .workspace_tokens = run->spec.prefill().workspace_tokens,
                 .context_plans = run->shape.path == Path::fp8_context,
                 .bound = ScratchBound::token_budget};
  Machine& m = run->machine;
  run->buffers = must(make_prefill_buffers(run->config, m.device()));
  if (auto bad = reserve_scratch(run->config, m.workspace, StepHooks::none())) FAIL(bad->message);
  m.workspace.lock();
  run->metadata = must(build_prefill(run->batch, run->shape, run->config, run->buffers, m.device(),
                                     StepHooks::none()));
  run->tensors = prop::make_prefill_tensors(run->spec, run->batch);
  return run;
}

void execute(Run& run, const ExecutionOptions& options) {
  if (auto bad = prefill::queue_prefill({run.metadata, run.tensors}, kKernels, options,
                                        run.machine.stream, run.machine.workspace, run.result))
    FAIL(bad->message);
  run.machine.stream.advance();
}

cpu::ReferenceResult reference(const Run& run) {
  std::vector<std::int64_t> merges(run.batch.requests.size(), 0);
  if (run.metadata.context)
    for (const ContextChunk& chunk : run.metadata.context->chunks)
      for (std::int64_t i = 0; i < chunk.requests(); ++i)
        ++merges[static_cast<std::size_t>(chunk.first_request + i)];
  return cpu::prefill_reference({.batch = run.batch,
                                 .tensors = run.tensors,
                                 .arch = run.spec.arch,
                                 .arithmetic = run.shape.arithmetic(),
                                 .causal = run.spec.causal,
                                 .merges = merges});
}

cpu::test::Closeness closeness(const Run& run) {
  DecodeResult result;
  result.out = run.result.out;
  result.lse = run.result.lse;
  return cpu::test::closeness(result, reference(run));
}

const char* const kLines[] = {
    "1q1s1;heads=1;arch=gfx950;dtype=bf16/fp8",
    "1q300s300;heads=2;arch=gfx950;dtype=bf16/fp8;cu=32",
    "1q130s130_1q257s257_1q5s5;heads=3;arch=gfx950;dtype=bf16/fp8;cu=48",
    "1q600s600;heads=16;arch=gfx950;dtype=bf16/fp8",
    "2q70s70;heads=24;arch=gfx950;dtype=bf16/fp8;cu=64;data=spiky.3",
    "1q300s300;heads=2;arch=gfx950;dtype=bf16/bf16",
    "3q40s40;heads=5;arch=gfx942;dtype=bf16/fp8",
    "1q40s40;heads=2;arch=gfx950;dtype=bf16/fp8;causal=0",
    "1q40s300_1q10s10_1q3s70;heads=2;arch=gfx950;dtype=bf16/fp8;workspace=64;block=16",
    "1q40s300_1q10s10_1q3s70;heads=2;arch=gfx942;workspace=4096;block=16;data=large.3",
    "2q33s65;heads=1;arch=gfx950;workspace=4096;block=32",
    "1q40s300_2q9s9_1q3s70;heads=2;arch=gfx950;dtype=bf16/fp8;workspace=64;planner=v12;cu=32",
    "1q260s300_1q3s700;heads=2;arch=gfx950;dtype=bf16/fp8;workspace=1024;planner=v12;cu=32",
};

}  // namespace

TEST_CASE("prefill: every path agrees with the dense reference", "[cpu][prefill][P05][P25]") {
  for (const char* line : kLines) {
    const auto run = prepare(line);
    execute(*run, {.threads = 1});
    const cpu::test::Closeness c = closeness(*run);
    DecodeResult faults;
    faults.faults = run->result.faults;
    INFO(line << " on path " << name(run->shape.path) << ": out " << c.out << ", lse " << c.lse
              << " of the bound; faults: " << cpu::test::faults_text(faults));
    CHECK(c.within());
    CHECK(run->result.faults.empty());
    CHECK(run->machine.heap.faults().empty());
  }
}

TEST_CASE("prefill: any order of works and number of threads gives the same bits",
          "[cpu][prefill][P31]") {
  for (const char* line : {"1q300s300_1q130s130;heads=3;arch=gfx950;dtype=bf16/fp8;cu=64",
                           "1q40s300_1q3s70;heads=2;arch=gfx942;workspace=64;block=16"}) {
    INFO(line);
    const auto plain = prepare(line);
    execute(*plain, {.threads = 1});
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto shuffled = prepare(line);
      execute(*shuffled, {.schedule_seed = seed, .threads = 3});
      CHECK(shuffled->result.out == plain->result.out);
      CHECK(shuffled->result.lse == plain->result.lse);
    }
  }
}

TEST_CASE("prefill: a key that a row must not see changes no bit of it, NaN included",
          "[cpu][prefill][P13]") {
  for (const char* line : {"1q300s300;heads=2;arch=gfx950;dtype=bf16/fp8;cu=32",
                           "1q300s300;heads=2;arch=gfx942", "1q100s140;heads=2;arch=gfx942"}) {
    INFO(line);
    const auto plain = prepare(line);
    execute(*plain, {.threads = 1});
    const auto mutated = prepare(line);
    const std::int64_t row = plain->batch.rows().count() - 40;
    for (std::int64_t i = row * 2 * kQkDim; i < (row + 1) * 2 * kQkDim; ++i)
      mutated->tensors.k[static_cast<std::size_t>(i)] = kPoisonBf16;
    for (std::int64_t i = row * 2 * kVDim; i < (row + 1) * 2 * kVDim; ++i)
      mutated->tensors.v[static_cast<std::size_t>(i)] = kPoisonBf16;
    execute(*mutated, {.threads = 1});
    const auto cut = row * 2 * kVDim;
    CHECK(std::equal(plain->result.out.begin(), plain->result.out.begin() + cut,
                     mutated->result.out.begin()));
    CHECK(mutated->result.out[static_cast<std::size_t>(cut)] !=
          plain->result.out[static_cast<std::size_t>(cut)]);
  }
}

TEST_CASE("prefill: scratch beyond what was reserved is refused before anything is queued",
          "[cpu][prefill][P22][BUG-089]") {
  const auto run = prepare("1q300s300;heads=2;arch=gfx950;dtype=bf16/fp8;cu=32");
  run->machine.stream.advance();
  device::Workspace small(run->machine.heap);
  REQUIRE_FALSE(small.reserve("fp8 prefill", 1000).has_value());
  small.lock();
  const auto bad = prefill::queue_prefill({run->metadata, run->tensors}, kKernels, {},
                                          run->machine.stream, small, run->result);
  REQUIRE(bad.has_value());
  CHECK(bad->bug == "BUG-089");
  CHECK(run->machine.stream.pending() == 0);
}

TEST_CASE("prefill: tensors that contradict the metadata are an error", "[cpu][prefill]") {
  const auto run = prepare("1q9s30;heads=2;arch=gfx950");
  const auto refused = [&run](auto change) {
    PrefillTensors tensors = run->tensors;
    change(tensors);
    return prefill::queue_prefill({run->metadata, tensors}, kKernels, {}, run->machine.stream,
                                  run->machine.workspace, run->result)
        .has_value();
  };
  CHECK(refused([](PrefillTensors& t) { t.q.pop_back(); }));
  CHECK(refused([](PrefillTensors& t) { t.v.pop_back(); }));
  CHECK(refused([](PrefillTensors& t) { t.heads = 4; }));
  CHECK(refused([](PrefillTensors& t) { t.cache.bits.pop_back(); }));
}
