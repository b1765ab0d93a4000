// Claims about the kernels, from the machine code of gfx942 and gfx950 as it is executed: every
// route, every element type and every number of packed rows agrees with the dense reference and,
// stage by stage, with the CPU backend; planner and expansion give the core's integers.
#include "cpu_backend/cpu_backend.hpp"
#include "hip_backend/device/emulated_device.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/planning/device_planner.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;
using namespace mla::hip::test;

namespace {

const char* const kLines[] = {
    "mla1:1q1s40_1q1s70_1q1s0;heads=16;arch=gfx942;cu=2",
    "mla1:2q2s50;heads=16;arch=gfx942;cu=3;dtype=fp8/fp8;scale=0.5/2",
    "mla1:1q4s70;heads=32;arch=gfx942;cu=2;dtype=bf16/fp8",
    "mla1:1q3s90;heads=48;arch=gfx942;cu=2",
    "mla1:1q2s70;heads=128;arch=gfx942;cu=2;dtype=fp8/fp8",
    "mla1:2q1s100;heads=16;arch=gfx942;planner=none;cu=80",
    "mla1:1q5s50_1q3s33;heads=16;arch=gfx950;cu=2",
    "mla1:1q2s70;heads=128;arch=gfx950;cu=2",
    "mla1:1q1s70;heads=64;arch=gfx950;cu=2;dtype=fp8/fp8",
    "mla1:1q4s60;heads=16;arch=gfx950;cu=2;dtype=bf16/fp8",
    "mla1:1q4s70;heads=32;arch=gfx950;causal=0;cu=2",
    "mla1:2q2s90;heads=16;arch=gfx950;cu=3;block=16;page=16;gran=2",
    "mla1:1q1s64_1q1s33;heads=5;arch=gfx950;cu=2;block=7;layout=descending",
};

std::unique_ptr<Step> made(const char* line) {
  const auto spec = parse_case(line);
  REQUIRE(spec.ok());
  std::string reason;
  auto step = try_step(*spec, reason);
  INFO(line << ": " << reason);
  REQUIRE(step != nullptr);
  return step;
}

bool built(Arch arch) {
  return has_code(arch, "decode");
}

}  // namespace

TEST_CASE("kernels: machine code of both architectures agrees with reference and CPU backend",
          "[hip][emulated]") {
  const auto cpu = cpu::make_cpu_backend();
  for (const char* line : kLines) {
    const auto step = made(line);
    INFO(line);
    if (!built(step->spec.arch)) continue;
    const auto backend = hip::make_hip_backend(hip::make_emulated_device(step->spec.arch, {}), {});
    const ExecutionOptions options{.record_stages = true};
    const auto result = backend->run(step->launch(), options);
    if (!result) FAIL(result.error().message);
    Closeness closeness;
    CHECK(judge(*step, *result, closeness) == "");
    CHECK(compare_stages(*step, cpu->run(step->launch(), options).value(), *result) == "");
  }
}

TEST_CASE("kernels: waves that sleep or run in another order change no bit",
          "[hip][emulated][P31]") {
  const auto step = made("mla1:1q3s70_1q3s10;heads=16;arch=gfx950;cu=2");
  if (!built(Arch::gfx950)) return;
  const auto run = [&](std::uint64_t schedule, const hip::HipOptions& options, std::uint64_t seed) {
    const auto backend = hip::make_hip_backend(
        hip::make_emulated_device(Arch::gfx950,
                                  {.run = {.schedule = hip::drawn_timing(schedule).schedule}}),
        options);
    auto result = backend->run(step->launch(), {.schedule_seed = seed});
    if (!result) FAIL(result.error().message);
    return std::move(*result);
  };
  const DecodeResult first = run(0, {}, 0);
  for (const DecodeResult& other :
       {run(17, {}, 0), run(0, {}, 5), run(0, {.through_graph = true}, 0)}) {
    CHECK(first.out == other.out);
    CHECK(first.lse == other.lse);
  }
}

TEST_CASE("kernels: the emulator finds no race, no missing wait and no unwritten register",
          "[hip][emulated]") {
  for (const char* line : {"mla1:1q2s70;heads=16;arch=gfx942;cu=2",
                           "mla1:1q2s70;heads=16;arch=gfx950;cu=2;dtype=fp8/fp8"}) {
    const auto step = made(line);
    if (!built(step->spec.arch)) continue;
    const auto backend = hip::make_hip_backend(
        hip::make_emulated_device(step->spec.arch, {.run = {.checks = gfx::every_check}}), {});
    const auto result = backend->run(step->launch(), {});
    INFO((result ? "" : result.error().message));
    CHECK(result.ok());
  }
}

TEST_CASE("device planner: element for element what the core plans", "[hip][emulated]") {
  for (const char* line :
       {"mla1:1q1s100_1q1s700_1q1s1_1q1s300;heads=16;arch=gfx942;cu=4",
        "mla1:1q1s100_1q1s0_1q1s700_1q1s0;heads=16;arch=gfx950;cu=4",
        "mla1:2q3s1000_1q3s35;heads=16;arch=gfx942;cu=4", "mla1:2q4s257;heads=32;arch=gfx942;cu=5",
        "mla1:2q2s200;heads=128;arch=gfx942;cu=9;dtype=fp8/fp8",
        "mla1:3q2s450;heads=16;arch=gfx950;cu=12;block=16;page=16;gran=2",
        "mla1:2q5s333_1q3s64;heads=16;arch=gfx950;cu=7",
        "mla1:40q1s300;heads=16;arch=gfx950;cu=256;split=2"}) {
    const auto step = made(line);
    INFO(line);
    if (!built(step->spec.arch)) continue;
    const DecodeBuilderOptions options{.max_requests = 0};
    const plan::PlanInput input = plan_input_of(step->metadata, options);
    const auto sizes = plan::query_sizes(size_query_of(step->metadata, options));
    const auto shape = resolve_plan_shape(input.key);
    const auto core = plan::make_plan(input, *sizes);
    const auto emulated = hip::make_emulated_device(step->spec.arch, {});
    const auto device = hip::plan_on_device(*emulated, input, *shape, *sizes);
    if (!device) FAIL(device.error().message);
    const auto same = [](const plan::PlanBuffer& a, const plan::PlanBuffer& b) {
      return std::equal(a.data().begin(), a.data().end(), b.data().begin(), b.data().end());
    };
    for (std::size_t i = 0; i < core->all().size(); ++i)
      CHECK(same(*core->all()[i], *device->all()[i]));
  }
}

TEST_CASE("device expansion: strided tables, any block size, surplus chunks that do nothing",
          "[hip][emulated]") {
  if (!built(Arch::gfx942)) return;
  const auto device = hip::make_emulated_device(Arch::gfx942, {});
  std::vector<std::int32_t> table(200);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int32_t>(i * 37 % 101);
  const std::vector<std::int32_t> indptr{0, 20, 20, 51};
  const std::vector<std::int64_t> rows{2, 0, 1};
  for (const std::int64_t per_block : {1, 3, 16}) {
    const ExpandInput input = {.table = {.data = table.data(),
                                         .rows = 3,
                                         .columns = 31,
                                         .row_stride = 1,
                                         .column_stride = 3},
                               .kv_indptr = indptr,
                               .table_rows = rows,
                               .pages_per_block = per_block};
    const ExpandGrid grid = {.programs = 3, .chunk = 7};
    std::vector<std::int32_t> expected(60, -9);
    const std::vector<std::int32_t> before = expected;
    REQUIRE_FALSE(expand_pages(input, grid, expected));
    const auto expanded = hip::expand_on_device(*device, input, grid, before);
    REQUIRE(expanded.ok());
    CHECK(*expanded == expected);
  }
}
