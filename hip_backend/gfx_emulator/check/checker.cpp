#include "hip_backend/gfx_emulator/check/checker.hpp"

#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/exec/launch_state.hpp"
#include "hip_backend/gfx_emulator/exec/scheduler.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"

namespace mla::gfx {
namespace {

// Who touched a dword of LDS last, and between which barriers: 25 bits of epoch, 5 bits of wave
// (`several` for readers), and how a writer wrote.
constexpr std::uint32_t several = 31, by_atomic = 1U << 5, by_load = 1U << 6;
constexpr unsigned epoch_shift = 7;

std::uint32_t epoch_of(std::uint32_t tag) {
  return tag >> epoch_shift;
}
std::uint32_t wave_of(std::uint32_t tag) {
  return tag & 31;
}

std::uint32_t dword_of(const Group& group, std::uint32_t d) {
  std::uint32_t value = 0;
  std::memcpy(&value, group.lds.data() + std::size_t{d} * 4, sizeof value);
  return value;
}

}  // namespace

Checker::Checker(Group& group, const Checks& checks) : checks_(checks), waves_(group.waves.size()) {
  const std::size_t dwords = group.lds_size / 4 + 1;
  lds_ = {std::vector<std::uint32_t>(dwords), std::vector<std::uint32_t>(dwords),
          std::vector<std::uint32_t>(dwords)};
}

void Checker::start_wave(const Wave& wave) {
  WaveInfo& info = waves_[wave.number];
  const Register fresh = checks_.uninitialised ? unwritten : Register{0};
  info.vector.fill(fresh);
  info.scalar.fill(0);
  info.bits.reset(!checks_.uninitialised);
  const Kernel& kernel = *wave.group->launch->kernel;
  const unsigned ids = static_cast<unsigned>(
      std::count(kernel.workgroup_id.begin(), kernel.workgroup_id.end(), true));
  mark_written(info, code::vgpr, 1);
  mark_written(info, 0, kernel.user_sgprs + ids);
  mark_written(info, 102, scalars - 102);
}

bool Checker::is_new(const Wave& w, const Inst& inst, Problem problem) {
  if (seen_.insert(std::uint64_t{inst.at} << 8 | static_cast<std::uint64_t>(problem)).second) {
    return true;
  }
  Launch& launch = *w.group->launch;
  const std::lock_guard lock(launch.mutex);
  ++launch.report.findings_dropped;
  return false;
}

void Checker::before(Wave& w, const Inst& inst) {
  ++serial_;  // one for the instruction: ds_write2 comes to lds_access() twice
  if (inst.kind == Class::wait) return wait(inst, waves_[w.number]);
  copies_undefined_ = checks_.uninitialised && copies_undefined(w, inst);
  upper_undefined_ = checks_.uninitialised && upper_undefined(w, inst);
  for (unsigned k = 0; k < inst.src.size(); ++k) {
    if (inst.src[k] == code::none) continue;
    UsedPart part = used_part(inst, k);
    if (upper_undefined_ && k == 2) part.width = 1;
    check_operand(w, inst, static_cast<std::uint16_t>(inst.src[k] + part.skip), part.width,
                  copies_undefined_ ? Use::copy : Use::read);
  }
  if (inst.dst != code::none) check_operand(w, inst, inst.dst, inst.width[0], Use::write);
  if (checks_.uninitialised) check_bits(w, inst);
}

// A copy of what nothing wrote is no mistake yet: compilers copy values that are not used later.
// The copy is then as good as unwritten itself.
bool Checker::copies_undefined(const Wave& w, const Inst& inst) const {
  if (inst.kind != Class::valu && inst.kind != Class::accumulator_move) return false;
  if (!DefinedBits::follows(w, inst)) return false;
  const WaveInfo& info = waves_[w.number];
  const std::uint16_t from = inst.src[0];
  if (from < code::vgpr) return info.bits.undefined(from, inst.width[1]) != 0;
  for (unsigned k = from - 256U; k < from - 256U + inst.width[1]; ++k) {
    if (k < vectors && (info.vector[k] & unwritten) != 0) return true;
  }
  return false;
}

// An addend whose lower half only has been written: a compiler that wants 32 bits of the sum does
// so.
bool Checker::upper_undefined(const Wave& w, const Inst& inst) const {
  const auto& operations = w.group->launch->object->operations();
  if (operations.at(inst.op).bitwise != Bitwise::wide_sum || inst.src[2] < code::vgpr) return false;
  const WaveInfo& info = waves_[w.number];
  const unsigned low = inst.src[2] - 256U;
  return (info.vector[low] & unwritten) == 0 && (info.vector[low + 1] & unwritten) != 0;
}

// Scalar registers: what uses a bit that nothing defined. Lanes that EXEC switches off do not use
// their bit of a carry or a selection.
void Checker::check_bits(Wave& w, const Inst& inst) {
  WaveInfo& info = waves_[w.number];
  const char* used = info.bits.before(w, inst);
  const bool followed = DefinedBits::follows(w, inst);
  std::string name = used != nullptr ? used : "";
  for (unsigned k = 0; name.empty() && !followed && k < inst.src.size(); ++k) {
    const auto [skip, used] = used_part(inst, k);
    const unsigned width = skip + used;
    const bool for_lanes = k == 2 && inst.is_vector && inst.width[3] == 0;
    for (unsigned at = skip; at < width && inst.src[k] < scalars; at += 2) {
      const auto operand = static_cast<std::uint16_t>(inst.src[k] + at);
      const std::uint64_t bits = info.bits.undefined(operand, width - at);
      if ((for_lanes ? bits & w.exec() : bits) != 0) name = operand_text(inst, inst.src[k], width);
    }
  }
  if (name.empty() || !is_new(w, inst, Problem::uninitialised_register)) return;
  report_finding(w, inst, Problem::uninitialised_register, -1, 0,
                 name + " is read before anything was written to it");
}

void Checker::after(Wave& w, const Inst& inst) {
  if (!suspects_.empty()) judge_writes(w, inst);
  WaveInfo& info = waves_[w.number];
  if (copies_undefined_) {
    mark_unwritten(w, info, inst.dst, inst.width[0]);
  } else if (upper_undefined_) {
    mark_written(info, inst.dst, 1);
    mark_unwritten(w, info, static_cast<std::uint16_t>(inst.dst + 1), 1);
  } else if (inst.dst != code::none) {
    mark_written(info, inst.dst, inst.width[0]);
  }
  if (checks_.uninitialised) info.bits.after(inst);
  if (inst.sdst != code::none && inst.kind != Class::mfma) mark_written(info, inst.sdst, 2);
  const bool memory = is_vector_memory(inst.kind), lds = inst.kind == Class::lds;
  const bool scalar = inst.kind == Class::smem;
  if (!memory && !lds && !scalar) return;
  Operation operation;
  operation.serial = serial_;
  const bool both = inst.kind == Class::flat;
  if (inst.dst != code::none) {
    const unsigned first = scalar ? inst.dst : inst.dst - 256U, end = scalar ? scalars : vectors;
    operation.first = static_cast<std::uint16_t>(std::min(first, end));
    operation.count =
        static_cast<std::uint16_t>(std::min(first + inst.width[0], end) - operation.first);
    Register* const registers = scalar ? info.scalar.data() : info.vector.data();
    for (unsigned k = first; k < std::min(first + inst.width[0], end); ++k) {
      registers[k] = static_cast<Register>(registers[k] + (both ? 2 : 1) * one_pending);
    }
  }
  if (scalar) info.smem.items.push_back(operation);
  if (lds || both) info.lgkm.items.push_back(operation);
  if (memory) info.vm.items.push_back(operation);
}

// Lanes that EXEC switches off keep what they have, which may be something.
void Checker::mark_unwritten(const Wave& w, WaveInfo& info, std::uint16_t operand, unsigned width) {
  if (w.exec() != ~std::uint64_t{0}) return;
  for (unsigned k = operand - 256U; k < operand - 256U + width && k < vectors; ++k) {
    info.vector[k] = static_cast<Register>(info.vector[k] | unwritten);
  }
}

void Checker::mark_written(WaveInfo& info, std::uint16_t operand, unsigned width) {
  if (operand < code::vgpr) return info.bits.define(operand, width);
  const unsigned first = operand - 256U;
  for (unsigned k = first; k < std::min(first + width, vectors); ++k) {
    info.vector[k] = static_cast<Register>(info.vector[k] & ~unwritten);
  }
}

void Checker::wait(const Inst& inst, WaveInfo& info) {
  const auto bits = static_cast<unsigned>(inst.imm);
  const unsigned vm = (bits & 15) | (bits >> 10 & 0x30), lgkm = bits >> 8 & 15;
  if (vm != 63) retire(info.vm, vm, info.vector.data());
  if (lgkm == 15) return;
  retire(info.lgkm, lgkm, info.vector.data());
  if (lgkm == 0) retire(info.smem, 0, info.scalar.data());
}

void Checker::retire(Queue& queue, std::size_t left, Register* registers) {
  while (queue.size() > left) {
    const Operation& operation = queue.items[queue.begin++];
    for (unsigned k = operation.first; k < operation.first + operation.count; ++k) {
      registers[k] = static_cast<Register>(registers[k] - one_pending);
    }
    queue.arrived = operation.serial;
  }
  if (queue.size() == 0) {
    queue.items.clear();
    queue.begin = 0;
  }
}

void Checker::check_operand(Wave& w, const Inst& inst, std::uint16_t operand, unsigned width,
                            Use use) {
  const bool vector = operand >= code::vgpr;
  if (!vector && operand >= scalars) return;
  const WaveInfo& info = waves_[w.number];
  const Register* const registers = vector ? info.vector.data() : info.scalar.data();
  const unsigned first = vector ? operand - 256U : operand;
  const unsigned end = std::min(first + width, vector ? vectors : scalars);
  unsigned any = 0;
  for (unsigned k = first; k < end; ++k) any |= registers[k];
  if (any != 0) blame_operand(w, inst, operand, width, use);
}

// One of the registers has nothing written to it, or an operation outstanding.
void Checker::blame_operand(Wave& w, const Inst& inst, std::uint16_t operand, unsigned width,
                            Use use) {
  const bool write = use == Use::write;
  const bool vector = operand >= code::vgpr;
  const WaveInfo& info = waves_[w.number];
  const Register* const registers = vector ? info.vector.data() : info.scalar.data();
  const unsigned first = vector ? operand - 256U : operand;
  const unsigned end = std::min(first + width, vector ? vectors : scalars);
  // Loads of one kind come back in order: a later one may take over the register.
  const bool load =
      is_vector_memory(inst.kind) || inst.kind == Class::lds || inst.kind == Class::smem;
  for (unsigned k = first; k < end; ++k) {
    if (checks_.waits && registers[k] >= one_pending && !(write && load)) {
      if (!is_new(w, inst, Problem::missing_wait)) return;
      return report_finding(w, inst, Problem::missing_wait, -1, 0,
                            operand_text(inst, operand, width) +
                                (write ? " is overwritten" : " is read") +
                                " while a load of it is outstanding");
    }
    if (use == Use::read && (registers[k] & unwritten) != 0) {
      if (!is_new(w, inst, Problem::uninitialised_register)) return;
      return report_finding(
          w, inst, Problem::uninitialised_register, -1, 0,
          operand_text(inst, operand, width) + " is read before anything was written to it");
    }
  }
}

void Checker::lds_access(Wave& w, const Inst& inst, const std::uint32_t* offsets,
                         std::uint64_t mask, std::uint32_t size, Intent intent) {
  const bool update = intent == Intent::update;
  for (unsigned l = 0; l < lanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    const std::uint32_t last = (offsets[l] + size - 1) / 4;
    for (std::uint32_t d = offsets[l] / 4; d <= last; ++d) {
      const bool after_atomic = update && (lds_.write[d] & by_atomic) != 0;
      if (intent != Intent::write && !after_atomic) read_dword(w, inst, d);
      if (intent != Intent::read) write_dword(w, inst, d, update);
    }
  }
}

// The queue of a wave is served in order: what was asked for up to `arrived` has arrived.
bool Checker::outstanding(std::uint32_t d) const {
  const std::uint32_t tag = lds_.write[d];
  const WaveInfo& writer = waves_[wave_of(tag)];
  return lds_.serial[d] > ((tag & by_load) != 0 ? writer.vm : writer.lgkm).arrived;
}

inline void Checker::read_dword(Wave& w, const Inst& inst, std::uint32_t d) {
  const std::uint32_t tag = lds_.write[d], now = epoch_ << epoch_shift;
  const bool old_and_arrived = tag != 0 && tag < now && !outstanding(d);
  if (!old_and_arrived) blame_read(w, inst, d);
  std::uint32_t& read = lds_.read[d];
  const bool other = read >= now && wave_of(read) != w.number;
  read = now | (other ? several : w.number);
}

// The write is of this epoch, outstanding, or has never been.
void Checker::blame_read(Wave& w, const Inst& inst, std::uint32_t d) {
  const std::uint32_t tag = lds_.write[d];
  const std::uint64_t address = std::uint64_t{d} * 4;
  const bool mine = wave_of(tag) == w.number;
  const auto place = [&] { return "LDS offset " + std::to_string(address); };
  if (tag == 0) {
    if (!checks_.uninitialised || !is_new(w, inst, Problem::uninitialised_lds)) return;
    return report_finding(w, inst, Problem::uninitialised_lds, -1, address,
                          "nothing was written to " + place());
  }
  if (checks_.lds_races && !mine && epoch_of(tag) == epoch_ && (tag & by_atomic) == 0) {
    if (!is_new(w, inst, Problem::lds_race)) return;
    return report_finding(w, inst, Problem::lds_race, -1, address,
                          place() + " was written by wave " + std::to_string(wave_of(tag)) +
                              " with no barrier between");
  }
  if (checks_.waits && (!mine || (tag & by_load) != 0) && outstanding(d)) {
    if (!is_new(w, inst, Problem::missing_wait)) return;
    report_finding(w, inst, Problem::missing_wait, -1, address,
                   place() + " is read while the write of wave " + std::to_string(wave_of(tag)) +
                       " is outstanding");
  }
}

inline void Checker::write_dword(Wave& w, const Inst& inst, std::uint32_t d, bool atomic) {
  const std::uint32_t tag = lds_.write[d], now = epoch_ << epoch_shift, seen = lds_.read[d];
  const bool read = seen >= now && wave_of(seen) != w.number;
  const bool written = tag >= now && wave_of(tag) != w.number;
  const bool both_atomic = atomic && ((tag & by_atomic) != 0 || tag < now);
  if (checks_.lds_races && (read || written) && !both_atomic) {
    suspects_.push_back({d, dword_of(*w.group, d), written});
  }
  lds_.write[d] =
      now | w.number | (atomic ? by_atomic : 0) | (inst.kind != Class::lds ? by_load : 0);
  lds_.serial[d] = serial_;
}

// After the instruction: what has it changed?
void Checker::judge_writes(Wave& w, const Inst& inst) {
  for (const Suspect& suspect : suspects_) {
    if (dword_of(*w.group, suspect.dword) == suspect.before) continue;
    if (!is_new(w, inst, Problem::lds_race)) continue;
    const std::uint64_t address = std::uint64_t{suspect.dword} * 4;
    report_finding(w, inst, Problem::lds_race, -1, address,
                   "LDS offset " + std::to_string(address) + " was " +
                       (suspect.written ? "written" : "read") +
                       " by another wave with no barrier between");
  }
  suspects_.clear();
}

}  // namespace mla::gfx
