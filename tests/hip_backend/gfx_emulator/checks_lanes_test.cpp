// The checks of missing lanes, of different barriers, and of memory that nobody wrote.
#include <algorithm>
#include <string>
#include <vector>

#include "device.hpp"
#include "tests/catch.hpp"

using mla::gfx::Problem;

namespace {

// Without optimisation the compiler keeps values in scratch, and shuffles nothing else.
std::vector<gfx_test::Target> lane_targets() {
  return {{"gfx942", 1}, {"gfx942", 3}, {"gfx950", 2}, {"gfx950", 3}};
}

std::vector<mla::gfx::Event> findings_of(const gfx_test::Target& target, const std::string& kernel,
                                         std::uint32_t threads, bool with_input,
                                         const mla::gfx::Checks& checks) {
  gfx_test::Device device("checks", target);
  const auto in = device.upload(std::vector<std::uint32_t>(130, 3), "in");
  const auto out = device.upload(std::vector<std::uint32_t>(130, 0), "out");
  gfx_test::Arguments arguments;
  if (with_input) arguments.add(in);
  arguments.add(out);
  gfx_test::Shape shape;
  shape.block = {threads, 1, 1};
  shape.options.checks = checks;
  auto report = device.report(kernel, arguments, shape);
  REQUIRE(report.faults.empty());
  return report.findings;
}

void expect_nothing(const gfx_test::Target& target, const std::string& kernel,
                    std::uint32_t threads, bool with_input) {
  mla::gfx::Checks checks = mla::gfx::every_check;
  checks.lanes = checks.same_barrier = true;
  const auto found = findings_of(target, kernel, threads, with_input, checks);
  INFO(target.text() << " " << kernel << " " << (found.empty() ? "" : found.front().line()));
  REQUIRE(found.empty());
}

}  // namespace

TEST_CASE("lanes that go around a barrier are found at the barrier, and lanes that left are not") {
  const auto target = GENERATE(from_range(lane_targets()));
  const auto found = findings_of(target, "barrier_in_divergent_lanes", 128, false, {.lanes = true});
  INFO(target.text());
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].problem == Problem::divergent_lanes);
  REQUIRE(found[0].disassembly == "s_barrier");
  REQUIRE(found[0].lanes == 0xffffff0000000000);
  REQUIRE(found[0].cause->disassembly.starts_with("global_store_dword "));
  expect_nothing(target, "barrier_after_lanes_left", 128, false);
}

TEST_CASE("waves that wait at different barriers are found, and waves at one barrier are not") {
  const auto target = GENERATE(from_range(lane_targets()));
  INFO(target.text());
  const auto found =
      findings_of(target, "two_barriers_for_one", 128, false, {.same_barrier = true});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].problem == Problem::divergent_barrier);
  REQUIRE(found[0].wave == 1);
  REQUIRE(found[0].cause->wave == 0);
  REQUIRE(found[0].cause->disassembly == "s_barrier");
  REQUIRE(found[0].cause->pc != found[0].pc);
  expect_nothing(target, "global_with_barrier", 128, false);
}

TEST_CASE("what is read of inactive lanes is found: ds_bpermute, DPP, v_readlane") {
  const auto target = GENERATE(from_range(lane_targets()));
  struct Row {
    const char* wrong;
    const char* right;
    bool input;
    const char* instruction;
    int lane;
    const char* text;
  };
  for (const Row& row :
       {Row{"shuffle_from_inactive_lanes", "shuffle_in_active_lanes", true, "ds_bpermute_b32 ", 0,
            " of lane 32, which is not active"},
        Row{"dpp_from_inactive_lanes", "dpp_in_active_lanes", true, "v_", 0,
            " of lane 8, which is not active"},
        Row{"readlane_of_nothing", "readlane_of_a_lane_that_was_written", false, "v_readlane_b32 ",
            40, "nothing was written to lane 40 of v77"},
        Row{"readlane_beside_a_written_lane", "readlane_of_a_lane_that_was_written", false,
            "v_readlane_b32 ", 40, "nothing was written to lane 40 of v78"}}) {
    INFO(target.text() << " " << row.wrong);
    const auto found = findings_of(target, row.wrong, 64, row.input, {.lanes = true});
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].problem == Problem::inactive_lane);
    REQUIRE(found[0].disassembly.starts_with(row.instruction));
    REQUIRE(found[0].lane == row.lane);
    REQUIRE(found[0].text.ends_with(row.text));
    expect_nothing(target, row.right, 64, row.input);
  }
}

TEST_CASE("shuffles from lanes that the workgroup does not have are not looked at") {
  const auto target = GENERATE(from_range(lane_targets()));
  expect_nothing(target, "shuffle_in_active_lanes", 20, true);
}

TEST_CASE("memory that nobody wrote is found where it is read, and what was written is not") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("checks", target);
  const auto fresh = [&](const char* name, std::size_t count) {
    const auto bytes = device.memory().allocate_fresh(4 * count, name).value();
    return std::span(reinterpret_cast<std::uint32_t*>(bytes.data()), count);
  };
  // The large one is mapped page by page.
  for (const std::size_t count : {std::size_t{64}, std::size_t{3'000'000}}) {
    const auto in = fresh("in", count), out = fresh("out", 64);
    const auto run = [&](std::span<std::uint32_t> from, std::span<std::uint32_t> to) {
      gfx_test::Shape shape;
      shape.options.checks = mla::gfx::every_check;
      return device.report("clean", gfx_test::Arguments().add(from).add(to), shape).findings;
    };
    const auto last = in.last(64);
    std::fill(last.begin(), last.end(), 5U);
    REQUIRE(run(last, out).empty());
    REQUIRE(run(out, last).empty());  // what the kernel wrote
    REQUIRE(!device.memory().release(out.data()));
    const auto half = fresh("half", 64);
    std::fill_n(half.begin(), 37, 7U);
    const auto found = run(half, last);
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].problem == Problem::uninitialised_memory);
    REQUIRE(found[0].lane == 37);
    REQUIRE(found[0].range == "half");
    REQUIRE(found[0].range_offset == 37 * 4);
    REQUIRE(found[0].disassembly.starts_with("global_load_dword "));
    if (count > 64) {
      const auto far = run(in.subspan(count - 128 - 700'000, 64), last);
      REQUIRE(far.size() == 1);
      REQUIRE(far[0].lane == 0);
    }
    for (const void* base :
         {static_cast<const void*>(half.data()), static_cast<const void*>(in.data())})
      REQUIRE(!device.memory().release(base));
  }
}
