#include "hip_backend/gfx_emulator/check/lane_watch.hpp"

#include <bit>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/operand.hpp"
#include "hip_backend/gfx_emulator/exec/reporting.hpp"
#include "hip_backend/gfx_emulator/isa/dpp.hpp"

namespace mla::gfx {
namespace {

bool has_lane(std::uint64_t mask, unsigned lane) {
  return (mask >> lane & 1) != 0;
}

bool reaches_memory(Class kind) {
  return kind == Class::global || kind == Class::buffer || kind == Class::flat ||
         kind == Class::lds;
}

std::string vector_name(std::uint16_t operand) {
  return operand < code::agpr ? say("v", operand - code::vgpr) : say("a", operand - code::agpr);
}

void report_lane(Wave& w, const Inst& inst, unsigned reader, unsigned source,
                 std::uint16_t operand) {
  report_finding(
      w, inst, Problem::inactive_lane, static_cast<int>(reader), 0,
      say("it reads ", vector_name(operand), " of lane ", source, ", which is not active"));
}

}  // namespace

LaneWatch::LaneWatch(const Group& group)
    : bpermute_(group.launch->object->operations().named("ds_bpermute_b32")),
      readlane_(group.launch->object->operations().named("v_readlane_b32")),
      waves_(group.waves.size()) {}

void LaneWatch::start_wave(const Wave& wave) {
  WaveInfo& info = waves_[wave.number];
  info.there = wave.exec();
  info.around = 0;
  info.written.fill(0);
  info.written[0] = ~std::uint64_t{0};  // the number of the thread
}

void LaneWatch::before(Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  if (inst.kind == Class::barrier) {
    const std::uint64_t missing = info.there & ~w.exec();
    info.around |= missing;
    if (missing != 0) info.barrier = inst.at;
    return;
  }
  if ((info.around & w.exec()) != 0 && reaches_memory(inst.kind)) blame_barrier(w, inst, info);
  if (inst.op == bpermute_) return pull(w, inst, info);
  if (inst.op == readlane_) return read_lane(w, inst, info);
  if (inst.dpp) dpp(w, inst, info);
}

void LaneWatch::blame_barrier(Wave& w, const Inst& inst, WaveInfo& info) const {
  const CodeObject& object = *w.group->launch->object;
  const std::uint64_t lanes_around = info.around & w.exec();
  info.around &= ~lanes_around;
  report_finding(w, object.instructions()[object.index_at(info.barrier)],
                 {.problem = Problem::divergent_lanes,
                  .lane = std::countr_zero(lanes_around),
                  .text = "lanes that did not come to this barrier go on behind it",
                  .lanes = lanes_around,
                  .cause = cause_at(w, w.group->id, w.number, inst.at)});
}

void LaneWatch::pull(Wave& w, const Inst& inst, const WaveInfo& info) const {
  const std::uint32_t* const address = w.reg(inst.src[0]);
  for (unsigned l = 0; l < lanes; ++l) {
    const unsigned from = (address[l] + static_cast<std::uint32_t>(inst.imm)) >> 2U & 63U;
    if (has_lane(w.exec(), l) && has_lane(info.there & ~w.exec(), from))
      return report_lane(w, inst, l, from, inst.src[1]);
  }
}

void LaneWatch::dpp(Wave& w, const Inst& inst, const WaveInfo& info) const {
  const auto& sources = dpp_sources(inst.dpp_ctrl);
  const std::uint64_t readers = dpp_lanes(inst) & w.exec();
  for (unsigned l = 0; l < lanes; ++l) {
    if (!has_lane(readers, l) || sources[l] < 0) continue;
    const auto from = static_cast<unsigned>(sources[l]);
    if (has_lane(info.there & ~w.exec(), from)) return report_lane(w, inst, l, from, inst.src[0]);
  }
}

void LaneWatch::read_lane(Wave& w, const Inst& inst, const WaveInfo& info) const {
  if (inst.src[0] < code::vgpr || inst.src[0] == code::none) return;
  const unsigned from = read_scalar(w, inst, inst.src[1]) & 63U;
  const std::uint64_t written = info.written[inst.src[0] - code::vgpr];
  if (written == 0 || has_lane(written, from) || !has_lane(info.there & ~w.exec(), from)) return;
  report_finding(w, inst, Problem::inactive_lane, static_cast<int>(from), 0,
                 say("nothing was written to lane ", from, " of ", vector_name(inst.src[0])));
}

void LaneWatch::after(const Wave& w, const Inst& inst) {
  if (inst.dst < code::vgpr || inst.dst == code::none) return;
  WaveInfo& info = waves_[w.number];
  const auto& operation = w.group->launch->object->operations().at(inst.op);
  std::uint64_t now = w.exec();
  if (inst.kind == Class::mfma) now = ~std::uint64_t{0};
  if (operation.traits.bitwise == Bitwise::to_lane)
    now = std::uint64_t{1} << (read_scalar(w, inst, inst.src[1]) & 63U);
  const unsigned first = inst.dst - code::vgpr;
  for (unsigned k = first; k < first + inst.width[0] && k < vectors; ++k) info.written[k] |= now;
}

}  // namespace mla::gfx
