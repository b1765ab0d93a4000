// Each check finds the mistake that was planted for it, and nothing in a kernel without one.
#include <algorithm>

#include "device.hpp"
#include "tests/catch.hpp"

using mla::gfx::Problem;

namespace {

using mla::gfx::Order;
using mla::gfx::Schedule;

// Every order of the waves, in turns of one instruction, of some, and to the next barrier.
std::vector<Schedule> schedules() {
  std::vector<Schedule> list;
  for (const std::uint32_t slice : {1U, 4U, 64U, 0U}) {
    list.push_back({.slice = slice, .order = Order::round_robin});
    list.push_back({.slice = slice, .order = Order::reverse});
    for (const std::uint64_t seed : {1, 2, 3})
      list.push_back({.slice = slice, .order = Order::random, .seed = seed});
  }
  return list;
}

std::string text(const Schedule& schedule) {
  return "turns of " + std::to_string(schedule.slice) + ", order " +
         std::to_string(static_cast<int>(schedule.order)) + ", seed " +
         std::to_string(schedule.seed);
}

gfx_test::Shape checked(std::uint32_t threads, const Schedule& schedule) {
  gfx_test::Shape shape;
  shape.block = {threads, 1, 1};
  shape.options.schedule = schedule;
  shape.options.checks = mla::gfx::every_check;
  return shape;
}

mla::gfx::LaunchReport launch(const gfx_test::Target& target, const std::string& kernel,
                              std::uint32_t threads, bool with_input, const Schedule& schedule = {},
                              std::uint32_t groups = 1) {
  INFO(target.text() << " " << kernel);
  gfx_test::Device device("checks", target);
  const auto in = device.upload(std::vector<std::uint32_t>(130, 3), "in");
  const auto out = device.upload(std::vector<std::uint32_t>(130, 0), "out");
  gfx_test::Arguments arguments;
  if (with_input) arguments.add(in);
  arguments.add(out);
  gfx_test::Shape shape = checked(threads, schedule);
  shape.grid = {groups, 1, 1};
  auto report = device.report(kernel, arguments, shape);
  REQUIRE(report.faults.empty());
  return report;
}

struct Planted {
  std::string kernel;
  std::uint32_t threads;
  bool input;
  Problem problem;
  std::string instruction;  // how it begins, as waves take turns
  std::uint32_t groups = 1;
  std::string fix = {};  // what the finding says is missing
};

const std::vector<Planted> all_planted = {
    {"vector_load_without_wait", 64, true, Problem::missing_wait, "v_add_u32", 1,
     "s_waitcnt vmcnt(0)"},
    {"wait_for_the_wrong_load", 64, true, Problem::missing_wait, "v_add_u32", 1,
     "s_waitcnt vmcnt(0)"},
    {"load_for_some_lanes_without_wait", 64, true, Problem::missing_wait, "v_add_u32", 1,
     "s_waitcnt vmcnt(0)"},
    {"scalar_load_without_wait", 64, true, Problem::missing_wait, "s_add_u32", 1,
     "s_waitcnt lgkmcnt(0)"},
    {"flat_waited_for_by_count", 64, true, Problem::missing_wait, "v_add_u32", 1,
     "s_waitcnt vmcnt(0) lgkmcnt(0)"},
    {"load_before_a_flat", 64, true, Problem::missing_wait, "v_add_u32", 1, "s_waitcnt vmcnt(0)"},
    {"as_many_as_the_counter_holds", 64, true, Problem::missing_wait, "v_add_u32", 1,
     "s_waitcnt vmcnt(62)"},
    {"loads_of_two_kinds_into_one_register", 64, true, Problem::missing_wait, "global_load_dword",
     1, "s_waitcnt lgkmcnt(0)"},
    {"lds_write_without_wait", 128, false, Problem::missing_wait, "ds_read_b32"},
    {"lds_write_waited_after_the_barrier", 128, false, Problem::missing_wait, "ds_read_b32"},
    {"load_to_lds_waited_after_the_barrier", 128, true, Problem::missing_wait, "ds_read_b32"},
    {"lds_read_waited_after_the_barrier", 128, false, Problem::missing_wait, "ds_write_b32"},
    {"lds_overwritten_before_the_wait", 128, false, Problem::missing_wait, "ds_write_b32"},
    {"load_to_lds_without_wait", 64, true, Problem::missing_wait, "ds_read_b32", 1,
     "s_waitcnt vmcnt(0) in wave 0"},
    {"read_without_barrier", 128, false, Problem::lds_race, "ds_", 1, "s_barrier between the two"},
    {"both_write_one_byte", 128, false, Problem::lds_race, "ds_write_b8", 1,
     "s_barrier between the two"},
    {"global_without_barrier", 128, false, Problem::global_race, "", 1,
     "s_barrier between the two"},
    {"groups_write_one_place", 64, false, Problem::global_race, "global_store_dword", 2},
    {"overwrite_without_barrier", 128, false, Problem::lds_race, "ds_write"},
    {"one_of_two_readers_overwrites", 128, false, Problem::lds_race, "ds_", 1,
     "s_barrier between the two"},
    {"register_never_written", 64, false, Problem::uninitialised_register, "v_add_u32"},
    {"copy_of_a_register_never_written", 64, false, Problem::uninitialised_register, "v_add_u32"},
    {"scalar_never_written", 64, false, Problem::uninitialised_register, "s_add_u32"},
    {"scalar_moved_by_m0_never_written", 64, false, Problem::uninitialised_register,
     "s_movrels_b32 s"},
    {"spilled_scalar_never_written", 64, false, Problem::uninitialised_register, "s_add_u32"},
    {"spilled_register_never_written", 64, false, Problem::uninitialised_register, "v_add_u32"},
    {"scratch_never_written", 64, false, Problem::uninitialised_register, "v_add_u32"},
    {"lanes_never_written", 64, false, Problem::uninitialised_register, "s_and_saveexec_b64"},
    {"branch_on_nothing_written", 64, false, Problem::uninitialised_register, "s_cbranch_scc"},
    {"branch_on_nothing_written_later", 64, false, Problem::uninitialised_register,
     "s_cbranch_scc"},
    {"lds_never_written", 64, false, Problem::uninitialised_lds, ""},
    {"barrier_for_half", 128, false, Problem::divergent_barrier, "s_barrier"},
};

// In a race the reader may come before the only write.
bool follows_from(Problem planted, Problem found) {
  return planted == Problem::lds_race && found == Problem::uninitialised_lds;
}

}  // namespace

TEST_CASE("every planted mistake is found at its instruction, under every schedule of waves") {
  // Without optimisation the compiler surrounds every access with waits of its own.
  const auto target = GENERATE(from_range(
      std::vector<gfx_test::Target>{{"gfx942", 1}, {"gfx942", 3}, {"gfx950", 2}, {"gfx950", 3}}));
  for (const Planted& planted : all_planted) {
    for (const Schedule& schedule : schedules()) {
      INFO(target.text() << " " << planted.kernel << ", " << text(schedule));
      // In another order either of two that race may come second, and be the one that is named.
      const bool in_turns = schedule.slice == 4 && schedule.order == Order::round_robin;
      const auto report =
          launch(target, planted.kernel, planted.threads, planted.input, schedule, planted.groups);
      std::string lines;
      for (const auto& event : report.findings) lines += event.line() + "\n";
      INFO(lines);
      REQUIRE(std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& event) {
        return event.problem == planted.problem && event.place.starts_with(planted.kernel) &&
               (planted.fix.empty() || event.fix == planted.fix) &&
               event.disassembly.starts_with(
                   in_turns || planted.problem != Problem::lds_race ? planted.instruction : "ds_");
      }));
      for (const auto& event : report.findings)
        REQUIRE((event.problem == planted.problem || follows_from(planted.problem, event.problem)));
      if (in_turns) REQUIRE(report.findings.size() == 1);
    }
  }
}

TEST_CASE("a kernel that waits has no finding") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  REQUIRE(launch(target, "clean", 64, true).findings.empty());
}

TEST_CASE(
    "what is not a mistake has no finding: halves, bytes, moves by M0, full counters, barriers, "
    "atomics") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  REQUIRE(launch(target, "load_for_other_lanes", 64, true).findings.empty());
  REQUIRE(launch(target, "more_than_the_counter_holds", 64, true).findings.empty());
  REQUIRE(launch(target, "scalar_moved_by_m0", 64, false).findings.empty());
  for (const Schedule& schedule : schedules()) {
    INFO(text(schedule));
    for (const char* kernel : {"halves_of_a_dword", "global_with_barrier"})
      REQUIRE(launch(target, kernel, 128, false, schedule).findings.empty());
    REQUIRE(launch(target, "waits_between_two_barriers", 128, true, schedule).findings.empty());
  }
  for (const char* kernel :
       {"groups_write_bytes_of_a_dword", "groups_add_atomically", "groups_ordered_by_a_flag"}) {
    const auto report = launch(target, kernel, 64, false, {}, 2);
    INFO((report.findings.empty() ? "" : report.findings.front().line()));
    REQUIRE(report.findings.empty());
  }
}

TEST_CASE("not found: atomics without order or of too small a scope are taken for order") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  CHECK(launch(target, "groups_ordered_by_nothing", 64, false, {}, 2).findings.empty());
}

TEST_CASE("a finding names the other instruction, its wave and its workgroup") {
  const auto race = launch({"gfx942", 2}, "groups_write_one_place", 64, false, {}, 3).findings;
  REQUIRE(race.size() == 1);
  REQUIRE(race[0].cause.has_value());
  REQUIRE(race[0].workgroup == std::array<std::uint32_t, 3>{1, 0, 0});
  REQUIRE(race[0].cause->workgroup == std::array<std::uint32_t, 3>{0, 0, 0});
  REQUIRE(race[0].cause->disassembly == race[0].disassembly);
  REQUIRE(race[0].lane == 0);
  REQUIRE(race[0].range == "out");
  const auto wait = launch({"gfx942", 2}, "wait_for_the_wrong_load", 64, true).findings;
  REQUIRE(wait.size() == 1);
  REQUIRE(wait[0].cause->disassembly.starts_with("global_load_dword "));
  REQUIRE(wait[0].cause->disassembly.ends_with(" offset:4"));
  REQUIRE(wait[0].line().ends_with("; missing: s_waitcnt vmcnt(0)"));
  REQUIRE(wait[0].lanes == ~std::uint64_t{0});
  const auto some = launch({"gfx942", 2}, "load_for_some_lanes_without_wait", 64, true).findings;
  REQUIRE(some.size() == 1);
  REQUIRE(some[0].lanes == 0xffffffff);
  REQUIRE(some[0].line().find(" wave 0 lanes 0xffffffff at ") != std::string::npos);
}

TEST_CASE("global races of a kernel that is not ours are notes") {
  gfx_test::Device device("checks", {"gfx950", 2});
  const auto out = device.upload(std::vector<std::uint32_t>(130, 0), "out");
  gfx_test::Shape shape = checked(64, {});
  shape.grid = {2, 1, 1};
  shape.options.checks.global_notes = true;
  const auto report =
      device.report("groups_write_one_place", gfx_test::Arguments().add(out), shape);
  REQUIRE(report.clean());
  REQUIRE(report.notes.size() == 1);
  REQUIRE(report.notes[0].problem == Problem::global_race);
}

TEST_CASE("bits of lanes that nothing uses may be undefined, and so may copies and spills") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  REQUIRE(launch(target, "mask_of_some_lanes", 64, false).findings.empty());
  REQUIRE(launch(target, "spills_what_nobody_uses", 64, false).findings.empty());
  REQUIRE(launch(target, "no_lane_reads", 64, false).findings.empty());
  REQUIRE(launch(target, "spills_a_register_never_written", 64, false).findings.empty());
  REQUIRE(launch(target, "scratch_of_one_lane", 64, false).findings.empty());
}

TEST_CASE("a check that is off finds nothing, and statistics count what ran") {
  gfx_test::Device device("checks", {"gfx942", 3});
  const auto in = device.upload(std::vector<std::uint32_t>(128, 3), "in");
  const auto out = device.upload(std::vector<std::uint32_t>(128, 0), "out");
  const auto report =
      device.report("vector_load_without_wait", gfx_test::Arguments().add(in).add(out), {});
  REQUIRE(report.clean());
  REQUIRE(out[5] == 4);
  const auto& statistics = report.statistics;
  REQUIRE(statistics.waves == 1);
  REQUIRE(statistics.workgroups == 1);
  REQUIRE(statistics.bytes_written == 256);
  REQUIRE(statistics.bytes_read >= 256);
  REQUIRE(statistics.by_class[static_cast<std::size_t>(mla::gfx::Class::global)] == 2);
  std::uint64_t sum = 0;
  for (const std::uint64_t count : statistics.by_class) sum += count;
  REQUIRE(sum == statistics.instructions);
}
