#include "control.hpp"

#include <cstring>
#include <vector>

#include "../elf_writer.hpp"
#include "encode.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

namespace gfx_test {
namespace {

using u32 = std::uint32_t;
using mla::gfx::Arch;
using mla::gfx::HostPath;

constexpr unsigned offset = vgpr + 1, value = vgpr + 2, other = vgpr + 3, threads = 128;

struct Outcome {
  std::vector<u32> out;  // a dword of each thread, zero before
  std::vector<mla::gfx::Event> faults;
};

// `words` begin with s[2:3] at the output and v1 four times the thread.
Outcome run_kernel(Arch arch, HostPath path, const Words& words,
                   const mla::gfx::Schedule& schedule) {
  mla::gfx::Memory memory;
  Outcome outcome{std::vector<u32>(threads), {}};
  const auto bytes = std::as_writable_bytes(std::span(outcome.out));
  if (memory.add(bytes, "out", mla::gfx::Rights::read_write)) return {};
  const Words start = join({encode::smem(1, {.data = 2, .base = 0, .offset = 0}),
                            encode::vop2(0x12, offset, zero + 2, vgpr), encode::sopp(12, 0)});
  const auto object =
      mla::gfx::load_code_object(write_elf({.words = join({start, words}),
                                            .machine = arch == Arch::gfx942 ? 0x54cU : 0x54fU,
                                            .lds = 4 * threads}),
                                 {.path = path});
  const std::byte* const argument = bytes.data();
  const auto report = mla::gfx::run(*object,
                                    {.kernel = "hand",
                                     .block = {threads, 1, 1},
                                     .kernarg = std::as_bytes(std::span(&argument, 1)),
                                     .options = {.schedule = schedule}},
                                    memory);
  outcome.faults = report->faults;
  return outcome;
}

Words store(unsigned reg) {
  return encode::flat(0x1c, encode::Segment::global, {.address = offset, .data = reg, .saddr = 2});
}
Words constant(unsigned number) {
  return encode::vop1(1, value, zero + number);
}
const Words wait = encode::sopp(12, 0), end = encode::sopp(1, 0);

bool all_are(const Outcome& outcome, u32 wanted) {
  if (outcome.out.size() != threads) return false;
  for (const u32 got : outcome.out) {
    if (got != wanted) return false;
  }
  return true;
}

bool nothing_follows_the_end(Arch arch, HostPath path) {
  const Outcome outcome = run_kernel(
      arch, path, join({constant(1), store(value), end, constant(2), store(value), end}), {});
  return outcome.faults.empty() && all_are(outcome, 1);
}

// Each wave writes its part of LDS and reads the other one's.
bool waves_wait_for_each_other(Arch arch, HostPath path) {
  const Words exchange = join({encode::ds(0x0d, {.address = offset, .data0 = vgpr}),
                               wait,
                               encode::sopp(10, 0),
                               encode::vop2(0x15, other, literal, offset),
                               {4 * 64},
                               encode::ds(0x36, {.dst = value, .address = other}),
                               wait,
                               store(value),
                               end});
  for (const mla::gfx::Schedule& schedule : {mla::gfx::Schedule{.slice = 0},
                                             {.slice = 1},
                                             {.slice = 0, .order = mla::gfx::Order::reverse}}) {
    const Outcome outcome = run_kernel(arch, path, exchange, schedule);
    if (!outcome.faults.empty() || outcome.out.size() != threads) return false;
    for (u32 n = 0; n < threads; ++n) {
      if (outcome.out[n] != (n ^ 64)) return false;
    }
  }
  return true;
}

// Assumption SAD_AND_DEBUG.
bool traps_end_the_launch(Arch arch, HostPath path) {
  const auto with = [&](int code) {
    return run_kernel(arch, path, join({encode::sopp(0x12, code), constant(1), store(value), end}),
                      {});
  };
  const Outcome aborted = with(2), debugged = with(3);
  return aborted.faults.size() == 1 && aborted.faults[0].problem == mla::gfx::Problem::trap &&
         all_are(aborted, 0) && debugged.faults.empty() && all_are(debugged, 1);
}

// The last register is s105; of a pair the first one has an even number.
bool relative_moves_stay_in_their_file(Arch arch, HostPath path) {
  const auto faults = [&](unsigned op, unsigned index) {
    const Outcome outcome = run_kernel(
        arch, path, join({encode::sop1(0, m0, literal), {index}, encode::sop1(op, 20, 20), end}),
        {});
    for (const auto& fault : outcome.faults) {
      if (fault.problem != mla::gfx::Problem::bad_operand) return false;
    }
    return !outcome.faults.empty();
  };
  for (const unsigned op : {0x2aU, 0x2bU, 0x2cU, 0x2dU}) {
    const unsigned last = op % 2 == 0 ? 85 : 84;
    if (faults(op, last) || !faults(op, last + 1) || !faults(op, 0xffffffff)) return false;
  }
  return faults(0x2b, 1) && faults(0x2d, 1) && !faults(0x2a, 1);
}

constexpr Control controls[] = {
    {"s_endpgm", "nothing runs after the end of a wave", nothing_follows_the_end},
    {"s_barrier", "no wave passes a barrier before all have come", waves_wait_for_each_other},
    {"s_movrels_b32", "M0 leads to a register that exists", relative_moves_stay_in_their_file},
    {"s_trap", "trap 2 ends the launch, trap 3 does nothing", traps_end_the_launch},
};

}  // namespace

std::span<const Control> all_controls() {
  return controls;
}

}  // namespace gfx_test
