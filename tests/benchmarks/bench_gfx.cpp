// Speed of the gfx emulator in executed wave-instructions a second, on one host thread.
//
// The kernel is a loop whose mix is that of an attention kernel: in twenty instructions two matrix
// products of 16x16x16, two LDS accesses of 128 bits, eleven of vector arithmetic, and the loop.
// Four waves take turns. Beside it our own decode kernel, where this build has its machine code,
// and AITER's where it is given. `bench_gfx --benchmark_repetitions=5` shows the spread.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "hip_backend/aiter/aiter_backend.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"
#include "tests/hip_backend/gfx_emulator/elf_writer.hpp"

namespace {

using mla::Arch;
using mla::parse_case;
using mla::gfx::best_host_path;
using mla::gfx::HostPath;
using mla::gfx::LaunchReport;
using mla::gfx::load_code_object;
using mla::gfx::Memory;
using mla::gfx::MfmaMode;
using mla::gfx::RunOptions;
namespace hip = mla::hip;

// s_mov s6, 2000; loop: ds_write_b128, v_mul, v_perm, v_add, v_cndmask, v_fma, v_mfma, v_pk_mul,
// v_max3, v_cmp, ds_read_b128, v_mul, v_and, v_mfma, s_add, s_sub, s_cmp, s_waitcnt, s_cbranch.
const std::vector<std::uint32_t> mixed = {
    0xbe8600ff, 0x000007d0, 0x24020084, 0xd9be0000, 0x00000401, 0x0a040503, 0xd1ed0003, 0x04261102,
    0x68100108, 0x00120702, 0xd1cb000a, 0x042a0702, 0xd3e18000, 0x04020d04, 0xd3b1400c, 0x18021902,
    0xd1d3000b, 0x042e0702, 0x7d921308, 0xd9fe0000, 0x04000001, 0x0a1c14f4, 0x261e170e, 0xd3e18004,
    0x04120d04, 0x80070607, 0x80868106, 0xbf078006, 0xbf8cc07f, 0xbf85ffe5, 0xbf810000};

void run_mixed(benchmark::State& state, HostPath path, const RunOptions& options) {
  const auto object = load_code_object(
      gfx_test::write_elf({.words = mixed, .lds = 4096, .kernarg_size = 0, .float_mode = 0xc0}),
      {.path = path});
  if (!object) {
    std::fprintf(stderr, "%s\n", object.error().message.c_str());
    std::exit(3);
  }
  const Memory memory;
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    const auto report = mla::gfx::run(
        *object, {.kernel = "hand", .block = {256, 1, 1}, .options = options}, memory);
    // The kernel reads what it has not waited for: only the checked run may mind.
    if (!report || !report->faults.empty()) std::exit(3);
    instructions += report->statistics.instructions;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
}

void mixed_fast(benchmark::State& state) {
  run_mixed(state, best_host_path(), {.threads = 1});
}
void mixed_portable(benchmark::State& state) {
  run_mixed(state, HostPath::portable, {.threads = 1});
}
void mixed_checked(benchmark::State& state) {
  run_mixed(state, best_host_path(), {.checks = {.waits = true, .lds_races = true}, .threads = 1});
}
void mixed_exact(benchmark::State& state) {
  run_mixed(state, best_host_path(), {.mfma = MfmaMode::exact, .threads = 1});
}

using MakeBackend =
    std::function<std::unique_ptr<mla::Backend>(std::shared_ptr<hip::Device> device)>;

// A decode step on the emulated device of its architecture. A backend takes findings for faults,
// and AITER's kernels have some: they may fail.
void run_step(benchmark::State& state, const std::string& line, const RunOptions& options,
              const MakeBackend& make, bool may_fail = false) {
  const auto spec = parse_case(line);
  std::string reason;
  const auto step = spec ? hip::test::try_step(*spec, reason) : nullptr;
  if (step == nullptr || hip::code_object(name(spec->arch), "decode").empty()) {
    state.SkipWithError(("no run: " + reason + std::string(hip::build_notes())).c_str());
    return;
  }
  std::uint64_t instructions = 0;
  const auto observe = [&](std::string_view, const LaunchReport& report) {
    instructions += report.statistics.instructions;
  };
  const auto backend =
      make(hip::make_emulated_device(spec->arch, {.run = options, .observe = observe}));
  for (auto _ : state) {
    if (!backend->run(step->launch(), {}) && !may_fail) std::exit(3);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
}

const MakeBackend ours = [](std::shared_ptr<hip::Device> device) {
  return hip::make_hip_backend(std::move(device), {});
};

std::string one_unit(benchmark::State& state) {
  return "mla1:1q1s1024;heads=16;cu=1;arch=gfx" + std::to_string(state.range(0));
}

// Our own decode kernels: one request of 1024 keys and 16 heads, on one compute unit.
void decode_fast(benchmark::State& state) {
  run_step(state, one_unit(state), {.threads = 1}, ours);
}
void decode_checked(benchmark::State& state) {
  run_step(state, one_unit(state), {.checks = mla::gfx::every_check, .threads = 1}, ours);
}
// Eight compute units: as many workgroups for the threads.
void decode_threads(benchmark::State& state) {
  run_step(state, "mla1:8q1s2048;heads=16;cu=8;arch=gfx942",
           {.threads = static_cast<int>(state.range(0))}, ours);
}
// AITER's kernels for the same step, where AITER_HSA names its directory hsa.
void decode_aiter(benchmark::State& state, bool checks) {
  const char* const directory = std::getenv("AITER_HSA");
  const auto found = hip::aiter::Installation::open(directory == nullptr ? "" : directory);
  if (!found) {
    state.SkipWithError("AITER_HSA does not name the directory hsa of an AITER installation");
    return;
  }
  run_step(
      state, one_unit(state),
      {.checks = checks ? mla::gfx::every_check : mla::gfx::Checks{}, .threads = 1},
      [&](std::shared_ptr<hip::Device> device) {
        return hip::aiter::make_aiter_backend(std::move(device), *found, {});
      },
      checks);
}
void aiter_fast(benchmark::State& state) {
  decode_aiter(state, false);
}
void aiter_checked(benchmark::State& state) {
  decode_aiter(state, true);
}

BENCHMARK(decode_fast)->Arg(942)->Arg(950)->Unit(benchmark::kMillisecond);
BENCHMARK(decode_checked)->Arg(942)->Arg(950)->Unit(benchmark::kMillisecond);
BENCHMARK(decode_threads)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(aiter_fast)->Arg(942)->Arg(950)->Unit(benchmark::kMillisecond);
BENCHMARK(aiter_checked)->Arg(942)->Arg(950)->Unit(benchmark::kMillisecond);
BENCHMARK(mixed_fast)->Unit(benchmark::kMillisecond);
BENCHMARK(mixed_portable)->Unit(benchmark::kMillisecond);
BENCHMARK(mixed_checked)->Unit(benchmark::kMillisecond);
BENCHMARK(mixed_exact)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
