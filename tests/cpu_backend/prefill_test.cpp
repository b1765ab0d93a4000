// Claims about whole prefill steps: every path agrees with the dense reference within its bound.
#include <catch2/catch.hpp>

#include "core/builder/prefill/prefill_builder.hpp"
#include "cpu_backend/prefill/forward.hpp"
#include "cpu_backend/prefill/prefill_reference.hpp"
#include "properties/prefill/tensors.hpp"
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
  const Capability capability = capability_of(platform_of(run->spec), model_of(run->spec));
  run->shape = must(resolve_prefill_shape(run->spec, run->batch, capability));
  run->config = {.fp8 = capability.ok(),
                 .compute_units = run->shape.compute_units,
                 .kernel_heads = Heads(round_up(run->spec.heads, 16)),
                 .limits = limits_of(run->batch),
                 .workspace_tokens = run->spec.workspace_tokens,
                 .context_plans = run->shape.path == Path::fp8_context,
                 .bound = ScratchBound::token_budget};
  Machine& m = run->machine;
  run->buffers = must(make_prefill_buffers(run->config, m.device()));
  if (auto bad = reserve_scratch(run->config, m.workspace)) FAIL(bad->message);
  m.workspace.lock();
  run->metadata =
      must(build_prefill(run->batch, run->shape, run->config, {}, run->buffers, m.device()));
  run->tensors = prop::make_prefill_tensors(run->spec, run->batch);
  return run;
}

void execute(Run& run, const ExecutionOptions& options) {
  if (auto bad = cpu::queue_prefill({run.metadata, run.tensors}, {}, options, run.machine.stream,
                                    run.machine.workspace, run.result))
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
    "1q40s300_1q10s10_1q3s70;heads=2;arch=gfx950;dtype=bf16/fp8;workspace=64;block=16;planner=v12;"
    "cu=32",
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
