#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/say.hpp"
#include "hip_backend/assumptions/tables.hpp"
#include "hip_backend/device/kernel_launch.hpp"

namespace mla::hip {
namespace {

constexpr std::array<Untestable, 6> kUntestable = {{
    {"SPARSE_LAYOUT", "no kernel asks for it yet"},
    {"UNWRITTEN_REGISTERS", "no source says what a register holds before it is written"},
    {"MATRIX_ORDER", "the mode 'exact' is the published model; 'fast' is known to differ"},
    {"MEMORY_ORDER", "a GPU shows one order of its memory, not all that it may take"},
    {"SLEEP_AND_PRIORITY", "these instructions change time, and no value"},
    {"SAD_AND_DEBUG", "a trap ends the process that runs it"},
}};

bool within_one_ulp(std::uint32_t want, std::uint32_t got) {
  const auto x = std::bit_cast<float>(want);
  const auto y = std::bit_cast<float>(got);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::nextafter(x, y) == y;
}

std::string hex(std::uint32_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "0x00000000";
  for (std::size_t k = 0; k < 8; ++k) out[9 - k] = kDigits[value >> 4 * k & 15U];
  return out;
}

Result<LaneWords> run(Device& device, const Assumption& assumption, const LaneWords& in) {
  KernelLaunch launch(device);
  AssumptionArguments arguments{};
  launch.input("in", std::span<const std::uint32_t>(in), arguments.in);
  const std::size_t out = launch.output("out", std::ssize(in), kPoisonWord, arguments.out);
  if (MaybeError bad = launch.run("assumptions", assumption.kernel, {.threads = 64}, arguments))
    return *bad;
  return launch.buffer(out).read_all<std::uint32_t>();
}

}  // namespace

std::span<const Assumption> testable_assumptions() {
  static const std::vector<Assumption> all = [] {
    std::vector<Assumption> list;
    for (const auto table : {lane_assumptions(), number_assumptions()})
      list.insert(list.end(), table.begin(), table.end());
    return list;
  }();
  return all;
}

std::span<const Untestable> untestable_assumptions() {
  return kUntestable;
}

std::string difference(const Assumption& assumption, Arch arch, const LaneWords& in,
                       const LaneWords& out) {
  const LaneWords want = assumption.expected(arch, in);
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t k = 0; k < assumption.results; ++k) {
      const std::uint32_t x = word(want, lane, k);
      const std::uint32_t y = word(out, lane, k);
      const bool same =
          assumption.compare == Assumption::Compare::bits ? x == y : within_one_ulp(x, y);
      if (!same)
        return say("result ", k, " of lane ", lane, " is ", hex(y), ", assumed is ", hex(x),
                   "; the lane's first input is ", hex(word(in, lane, 0)));
    }
  }
  return {};
}

Result<std::vector<AssumptionResult>> test_assumptions(Device& device) {
  using Kind = AssumptionResult::Kind;
  const DeviceProperties& p = device.properties();
  if (const auto probe = make_stream(device); !probe) return probe.error();
  const auto arch = arch_from_name(p.arch);
  if (!arch)
    return Error{ErrorCode::unsupported,
                 p.label + " is " + p.arch + "; the assumptions are about gfx942 and gfx950"};
  if (code_object(p.arch, "assumptions").empty())
    return Error{ErrorCode::unsupported,
                 say("this build has no code for ", p.arch, ": ", build_notes())};
  std::vector<AssumptionResult> results;
  for (const Assumption& a : testable_assumptions()) {
    if (*arch == Arch::gfx942 && !a.on_gfx942) {
      results.push_back({a.name, Kind::not_tested, "gfx942 has no such instruction"});
    } else if (a.beyond_emulation && p.guards_memory) {
      results.push_back({a.name, Kind::not_tested, p.label + " reports the access as a fault"});
    } else {
      const LaneWords in = a.inputs();
      const auto out = run(device, a, in);
      if (!out) return out.error();
      const std::string what = difference(a, *arch, in, *out);
      results.push_back({a.name, what.empty() ? Kind::holds : Kind::differs, what});
    }
  }
  for (const Untestable& u : kUntestable) results.push_back({u.name, Kind::not_tested, u.reason});
  return results;
}

}  // namespace mla::hip
