// What a kernel must not do is reported with its place, and never reaches the host.
#include <algorithm>

#include "device.hpp"
#include "tests/catch.hpp"

using mla::gfx::Problem;

namespace {

const mla::gfx::Event& only_fault(const mla::gfx::LaunchReport& report, Problem problem) {
  std::string lines;
  for (const auto& event : report.faults) lines += event.line() + "\n";
  INFO(lines);
  REQUIRE(report.faults.size() == 1);
  REQUIRE(report.faults[0].problem == problem);
  return report.faults[0];
}

}  // namespace

TEST_CASE(
    "a read past the end names wave, lane, instruction and address, in its line relative to the "
    "buffer") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("faults", target);
  const auto in = device.buffer<std::uint32_t>(64, "input");
  const auto out = device.buffer<std::uint32_t>(64, "output");
  const auto report =
      device.report("read_past_the_end", gfx_test::Arguments().add(in).add(out), {});
  const auto& fault = only_fault(report, Problem::out_of_bounds);
  REQUIRE(fault.lane == 63);
  REQUIRE(fault.wave == 0);
  REQUIRE(fault.address == reinterpret_cast<std::uint64_t>(in.data() + 64));
  REQUIRE(fault.place.starts_with("read_past_the_end+0x"));
  REQUIRE(fault.disassembly.find("load_dword") != std::string::npos);
  REQUIRE(fault.line().find("offset 256 of 'input', which has 256 bytes") != std::string::npos);
  REQUIRE(fault.line().find(", address 'input'+0x100, pc 0x") != std::string::npos);
}

TEST_CASE(
    "read-only memory, null and wild pointers are refused, no line has the address of a wild one") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("faults", target);
  const std::vector<std::uint32_t> constant(64, 9);
  REQUIRE(!device.memory().add_read_only(std::as_bytes(std::span(constant)), "constant"));
  const auto write = [&](std::uint64_t address) {
    return device.report("write_anywhere", gfx_test::Arguments().add(address).add(std::uint32_t{1}),
                         {});
  };
  only_fault(write(reinterpret_cast<std::uint64_t>(constant.data())), Problem::read_only);
  REQUIRE(constant[0] == 9);
  const auto null = write(0);
  REQUIRE(only_fault(null, Problem::out_of_bounds).text.find("null pointer") != std::string::npos);
  for (const std::uint64_t wild :
       {0x8ULL, 0xdeadbeefdeadbeefULL, 0x00007fffffffff00ULL, ~0ULL - 64, 0x0003000000000000ULL}) {
    const auto report = write(wild);
    const auto& fault = only_fault(report, Problem::out_of_bounds);
    REQUIRE(fault.address_text() == (wild == 8 ? "0x8" : ""));
    REQUIRE((fault.line().find(", address ") == std::string::npos) == (wild != 8));
  }
  const auto out = device.buffer<std::uint32_t>(64, "out");
  const auto report = device.report("one_wild_lane",
                                    gfx_test::Arguments().add(out).add(std::uint64_t{1} << 40), {});
  REQUIRE(only_fault(report, Problem::out_of_bounds).lane == 37);
}

TEST_CASE("LDS ends where the allocation ends") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("faults", target);
  const auto out = device.buffer<std::uint32_t>(64, "out");
  const auto inside =
      device.report("lds_past_the_end", gfx_test::Arguments().add(out).add(std::uint32_t{0}), {});
  REQUIRE(inside.clean());
  const auto report =
      device.report("lds_past_the_end", gfx_test::Arguments().add(out).add(std::uint32_t{2}), {});
  const auto& fault = only_fault(report, Problem::lds_out_of_bounds);
  REQUIRE(fault.lane == 62);
  REQUIRE(fault.address == 256);
}

TEST_CASE("a load to LDS past the allocation is a fault, unless M0 masks the wave") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("faults", target);
  std::vector<std::uint32_t> values(64);
  for (std::uint32_t lane = 0; lane < 64; ++lane) values[lane] = 1000 + lane;
  const auto in = device.upload<std::uint32_t>(values, "in");
  const auto out = device.buffer<std::uint32_t>(128, "out");
  const auto load = [&](std::uint32_t m0) {
    return device.report("load_to_lds", gfx_test::Arguments().add(in).add(out).add(m0), {});
  };
  const auto lanes_written = [&] {
    return std::count_if(out.begin(), out.end(), [](std::uint32_t v) { return v != 0xdd; });
  };
  const auto inside = load(0);
  REQUIRE(inside.clean());
  REQUIRE(inside.statistics.lds_loads_masked == 0);
  REQUIRE(lanes_written() == 64);
  const auto past = load(512 - 4 * 60);  // the last four lanes leave the 512 bytes
  REQUIRE(only_fault(past, Problem::lds_out_of_bounds).lane == 60);
  for (const std::uint32_t masked : {0x7fffffffU, 0xffffffffU, 0x40000U + 512U}) {
    const auto report = load(masked);
    INFO(masked);
    REQUIRE(report.clean());
    REQUIRE(report.statistics.lds_loads_masked == 64);
    REQUIRE(lanes_written() == 0);
  }
  const auto part = load(0x40000U + 512 - 4 * 60);
  REQUIRE(part.clean());
  REQUIRE(part.statistics.lds_loads_masked == 4);
  REQUIRE(lanes_written() == 60);
}

TEST_CASE("endless kernels, traps and misaligned atomics end the launch") {
  const auto target = GENERATE(from_range(gfx_test::all_targets()));
  INFO(target.text());
  gfx_test::Device device("faults", target);
  const auto out = device.upload<std::uint32_t>({5, 0}, "out");
  const auto arguments = gfx_test::Arguments().add(out);
  gfx_test::Shape limited;
  limited.options.instruction_limit = 10000;
  only_fault(device.report("endless", arguments, limited), Problem::instruction_limit);
  only_fault(device.report("trapped", arguments, {}), Problem::trap);
  REQUIRE(out[0] == 5);
  only_fault(device.report("misaligned", arguments, {}), Problem::misaligned);
}

TEST_CASE("a launch that cannot start says why") {
  gfx_test::Device device("faults", {"gfx942", 3});
  const auto refused = [&](mla::gfx::LaunchRequest request) {
    const auto report = mla::gfx::run(device.object(), request, device.memory());
    REQUIRE(!report.ok());
    return report.error().message;
  };
  REQUIRE(refused({.kernel = "nothing"}).find("'nothing'") != std::string::npos);
  REQUIRE(refused({.kernel = "endless", .block = {65, 1, 1}}).find("65 threads") !=
          std::string::npos);
  REQUIRE(refused({.kernel = "endless", .grid = {0, 1, 1}}).find("grid") != std::string::npos);
  REQUIRE(refused({.kernel = "endless", .dynamic_lds = 65537}).find("65536") != std::string::npos);
}
